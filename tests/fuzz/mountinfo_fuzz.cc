// The kernel's mount table holds bytes that users chose: no table may crash the parser.
#include <cstdint>
#include <string_view>

#include "base/mountinfo.h"
#include "places/layout.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(sluice::parse_mountinfo(text));
  if (const auto layout = sluice::parse_layout(text);
      layout && *sluice::parse_layout(sluice::print(*layout)) != *layout) {
    __builtin_trap();
  }
  return 0;
}

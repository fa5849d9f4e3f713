// Any text is an intent or a fault inside the text, and an intent survives printing and parsing.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "intent/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto intent = sluice::parse_intent(text);
  if (!intent) {
    const std::size_t column = intent.error().column;
    if (column < 1 || column > sluice::characters(text) + 1 || intent.error().message.empty()) {
      std::abort();
    }
    static_cast<void>(intent.error().excerpt(text));
  } else if (const auto back = sluice::parse_intent(sluice::print(*intent)); !back || *back != *intent) {
    std::abort();
  }
  static_cast<void>(sluice::parse_sigdef(text));
  return 0;
}

// What a block of a trace holds, whatever it is.
#include <cstddef>
#include <cstdint>

#include "trace/format.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < sluice::TraceBlock::head_bytes) {
    return 0;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const sluice::TraceBlock block = sluice::parse_head(bytes);
  const std::string_view raw = bytes.substr(sluice::TraceBlock::head_bytes);
  std::vector<sluice::TraceEvent> events;
  std::vector<std::string> paths;
  // What can be decoded comes out the same again, except numbers that are written longer than they need be.
  if (sluice::decode_events(block, raw, events)) {
    std::vector<sluice::TraceEvent> again;
    if (!sluice::decode_events(block, sluice::encode_events(events), again) || again != events) {
      __builtin_trap();
    }
  }
  [[maybe_unused]] const auto good = sluice::decode_paths(block, raw, paths);
  return 0;
}

// A trace as it lies in a file: a head, then blocks, each compressed by itself (docs/trace.md). What is whole
// at the beginning can be read whatever became of the rest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/event.h"

namespace sluice {

inline constexpr std::string_view trace_magic = "SLUICETR";
inline constexpr std::uint32_t trace_version = 1;
inline constexpr std::size_t trace_head_bytes = 16;  // the magic, the version, zeros

struct TraceBlock {
  enum Kind : std::uint32_t {
    about = 1,   // JSON: what was traced
    paths = 2,   // which go on counting from those before
    events = 3,  // of one thread, in the order in which they ended
    end = 4      // JSON: nothing follows
  };
  static constexpr std::size_t head_bytes = 48;
  // More is no block of ours.
  static constexpr std::uint32_t most_bytes = 64U << 20U;
  static constexpr std::uint32_t most_events = 16384;  // in a block of them

  std::uint32_t kind = 0;
  std::uint32_t count = 0;    // paths or events
  std::uint32_t raw = 0;      // bytes of what is in it
  std::uint32_t stored = 0;   // bytes in the file, behind the head
  std::uint64_t check = 0;    // XXH64 of them
  std::uint32_t process = 0;  // of the events
  std::uint32_t thread = 0;
  std::int64_t first = 0;  // least and largest begin of the events
  std::int64_t last = 0;
};

// Heads, little-endian.
std::string print_head(const TraceBlock& block);
TraceBlock parse_head(std::string_view bytes);  // REQUIRES: head_bytes of them

// What a block holds. The events are of one process and thread.
std::string encode_events(std::vector<TraceEvent>& events);  // they stay what they are
std::string encode_paths(const std::vector<std::string>& paths);
// EBADMSG where it is none. `events` is replaced, `paths` grows.
Status decode_events(const TraceBlock& block, std::string_view raw, std::vector<TraceEvent>& events);
Status decode_paths(const TraceBlock& block, std::string_view raw, std::vector<std::string>& paths);

}  // namespace sluice

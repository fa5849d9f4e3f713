// The first look at a trace: which threads there were and who started them, and which files the replay needs
// and how large they have to be beforehand. Pure but for reading the trace.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "replay/recent.h"
#include "replay/replay.h"
#include "trace/reader.h"

namespace sluice {

// A name in the replay's folder. A path has several where it was another file each time without anybody who
// was seen to remove or rename it: one that is suddenly longer, shorter, or made anew.
struct ReplayName {
  std::uint32_t path = 0;
  std::uint32_t number = 0;  // among those of the path
  bool is_folder = false;    // one that is synced
  bool flat = false;         // is another one, see scratch.h
};

// A file of the replay.
struct ReplayFile {
  std::uint32_t name = 0;     // its first
  std::uint64_t initial = 0;  // bytes that are made beforehand
  std::uint64_t size = 0;     // as the trace goes on
  std::uint64_t written = 0;  // bytes, of writes and allocations
  std::uint64_t largest = 0;
  bool prepared = false;  // is there beforehand
  bool fixed = false;     // its initial size is known by now, or does not matter any more
  bool follows = false;   // its name was another's before, so it cannot be there beforehand
};

// What a call that changes names does in the replay.
struct ReplayChange {
  std::uint32_t name = 0;  // 0 = nothing
  std::uint32_t other = 0;
};

struct ReplayStrand {
  static constexpr std::uint32_t none = ~0U;
  std::uint32_t process = 0;  // as the trace has it; 0 = none in it
  std::uint32_t thread = 0;
  std::uint32_t creator = none;   // strand
  std::uint32_t main = 0;         // strand of the process
  std::uint64_t spawn_after = 0;  // so many operations of the creator
  std::uint64_t operations = 0;
  std::int64_t begin = 0;              // of the first
  std::int64_t end = 0;                // of the last, or of what it started
  std::vector<std::uint32_t> spawned;  // in that order
  RecentEnds recent;
};

struct TraceScan {
  std::uint8_t point = 0;
  std::vector<ReplayStrand> strands;      // the first began all others; it does nothing else
  std::vector<ReplayFile> files;          // the first is none
  std::vector<ReplayName> names;          // the first is none
  std::vector<std::uint32_t> file_of;     // by number of the open file in the trace
  std::vector<std::uint32_t> name_of;     // likewise: under which name it is opened
  std::vector<ReplayChange> changes;      // of names, in the order of the trace
  std::vector<std::uint32_t> existing;    // names that opens found and should not have, likewise; 0 = none
  std::vector<std::uint8_t> changed;      // by number of the path: whether any file of it ever was
  std::vector<ReplayedOperation> totals;  // by number of the operation, what was
  std::uint64_t operations = 0;
  std::uint64_t processes = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::unordered_map<std::uint64_t, std::uint32_t> by_thread;  // see thread_key()

  // Bytes that the files take at most.
  [[nodiscard]] std::uint64_t room() const;
};

constexpr std::uint64_t thread_key(const TraceEvent& event) {
  return std::uint64_t{event.process} << 32U | event.thread;
}
// With times that can be added up, whatever the trace says.
TraceEvent sane(TraceEvent event);
constexpr std::int64_t end_of(const TraceEvent& event) {
  return event.begin + event.duration;
}
// Whether it counts: seen at that point, and an operation.
bool is_replayed(const TraceEvent& event, std::uint8_t point);
// Whether it may change what others see of the path.
bool changes_file(const TraceEvent& event);
// Flags that an open is done again with.
int replayed_flags(std::int32_t flags);

// EBADMSG where nothing of it can be replayed.
Result<TraceScan> scan_trace(TraceReader& trace, std::uint8_t point,
                             const std::function<bool(const std::string&)>& covers = {});

}  // namespace sluice

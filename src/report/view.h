// A trace as a page can show it: sums and a timeline for each file and process, of bounded size whatever the
// size of the trace.
//
// Files whose names differ in numbers alone are one row where there are many of them (`out/step_*.dat`); what
// took least is together in `others`.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "report/timeline.h"
#include "trace/reader.h"

namespace sluice {

// Reads, or writes.
struct ViewRequests {
  static constexpr std::size_t classes = 33;  // of sizes, by their bits
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;
  std::uint64_t bytes = 0;  // moved
  std::uint64_t nanoseconds = 0;
  std::uint64_t sequential = 0;  // that go on where the one before ended
  std::uint64_t strided = 0;     // that leave the same gap as the one before
  std::uint64_t random = 0;
  struct Class {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;  // wanted
    std::uint64_t nanoseconds = 0;
  };
  std::array<Class, classes> sizes = {};

  void add(const ViewRequests& more);
  // sequential, strided, random, mixed; "" where there were none. As `sluice trace stats` says it.
  [[nodiscard]] std::string pattern() const;
  // The size of most: their mean where all are alike, else a power of two near the median.
  [[nodiscard]] std::uint64_t typical() const;
};

// A file, several of one family, or a process.
struct ViewRow {
  std::string name;           // path, glob, or program
  std::uint64_t files = 0;    // in it; of a process: that it used, one counted as often as it was opened
  std::uint32_t process = 0;  // number; 0 = it is no process
  std::uint32_t parent = 0;
  std::uint64_t threads = 0;
  ViewRequests read;
  ViewRequests write;
  std::uint64_t opens = 0;
  std::uint64_t syncs = 0;
  std::uint64_t sync_nanoseconds = 0;
  std::uint64_t calls = 0;     // of all kinds
  std::uint64_t failures = 0;  // of all kinds
  std::uint64_t nanoseconds = 0;
  Lane lane;

  void add(const ViewRow& more);
};

struct TraceView {
  static constexpr std::size_t most_rows = 200;

  JsonBox about;        // what was traced, as the trace tells
  JsonBox end;          // null where it was cut
  std::string trouble;  // why not all of it could be read
  std::string point;    // of the stack, where calls were seen
  std::uint64_t events = 0;
  double seconds = 0;      // from the beginning to the end of the last call
  double bin_seconds = 0;  // of a bin of all lanes
  // By operation (TraceEvent::Operation), those that there are.
  struct Operation {
    std::string name;
    std::uint64_t calls = 0;
    std::uint64_t failures = 0;
    std::uint64_t nanoseconds = 0;
  };
  std::vector<Operation> operations;  // the longest first
  ViewRow all;
  std::vector<ViewRow> files;  // the longest first
  ViewRow other_files;         // the rest; none where files is 0
  std::uint64_t file_count = 0;
  std::vector<ViewRow> processes;  // the longest first
  ViewRow other_processes;
  std::uint64_t process_count = 0;
};

// Of what was seen at one point (as cli/trace_input's wanted_point() gives it). Reads the trace to its end.
Result<TraceView> view_of(TraceReader& trace, std::uint8_t point);

}  // namespace sluice

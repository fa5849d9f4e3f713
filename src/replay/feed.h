// The second look at a trace: turns its events into steps, with what each has to wait for (docs/replay.md
// says the rules). From one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "replay/scan.h"
#include "replay/script.h"

namespace sluice {

// Where steps go.
class StepSink {
 public:
  StepSink() = default;
  StepSink(StepSink&&) = default;
  StepSink& operator=(StepSink&&) = delete;
  StepSink(const StepSink&) = delete;
  StepSink& operator=(const StepSink&) = delete;
  virtual ~StepSink() = default;
  // Adds a step to a strand, with the path of an open.
  virtual Status put(std::uint32_t strand, Step step, const std::string& path) = 0;
};

class Feeder {
 public:
  // Both must outlive it.
  Feeder(const TraceScan& scan, const TraceReader& trace, StepSink& sink);

  // REQUIRES: the events of the trace that was scanned, in the same order.
  Status take(const TraceEvent& event);
  // After the last.
  Status finish();

  // Operations that are not done again, by number.
  [[nodiscard]] const std::vector<ReplayedOperation>& skipped() const { return skipped_; }

 private:
  // An operation that others may have to wait for.
  struct Mark {
    std::uint32_t strand = 0;
    std::uint64_t index = 0;  // so many operations of it are done then
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  using Marks = std::unordered_map<std::uint32_t, Mark>;  // the last of each strand
  // An open file of a process.
  struct Open {
    std::uint32_t slot = 0;
    std::uint32_t path = 0;
    Mark opened;
    Marks users;  // others than who opened it
  };
  // A path, of which some file is changed at some time.
  struct PathMarks {
    Marks changes;
    Marks looks;
    std::int64_t settled = -1;  // what had ended by then, a change has waited for that has ended itself
  };
  struct Process {
    std::unordered_map<std::uint32_t, Open> open;  // by number
    std::vector<std::uint32_t> strands;
    std::uint32_t slots = 0;  // that were ever used
  };
  struct Strand {
    bool spawned = false;
    bool ended = false;
    std::uint64_t index = 0;  // operations so far
    std::int64_t base = 0;    // when what the next one comes after ended
    std::size_t spawns = 0;   // of its list, that are there
    std::vector<std::uint32_t> unjoined;
    std::vector<std::uint32_t> free_slots;
    std::unordered_map<std::uint32_t, std::uint64_t> waited;  // by strand: for so many of its operations
    RecentEnds recent;
  };

  Status start(std::uint32_t strand);
  // Those that begin before the next operation of this one.
  Status spawn_due(std::uint32_t creator);
  Status spawn_next(std::uint32_t creator);
  // Where it does and starts nothing more.
  Status end_where_due(std::uint32_t strand);
  Status join(std::uint32_t strand, std::int64_t now);
  Status wait_for(std::uint32_t strand, const Mark& mark);
  Status wait_for_path(std::uint32_t strand, const TraceEvent& event, std::uint32_t path, bool changes);
  Status wait_for_open(std::uint32_t strand, const TraceEvent& event, const Open& open);
  void note(std::uint32_t strand, const TraceEvent& event, std::uint32_t path, bool changes);
  Status put_open(std::uint32_t strand, const TraceEvent& event, Step& step, std::string& path);
  // What a change of names becomes, likewise.
  void put_change(const TraceEvent& event, Step& step, std::string& names);
  [[nodiscard]] bool changes(const TraceEvent& event) const;
  std::uint32_t new_slot(std::uint32_t strand);
  Process& process_of(std::uint32_t strand) { return processes_[scan_.strands[strand].main]; }

  const TraceScan& scan_;
  const TraceReader& trace_;
  StepSink& sink_;
  std::vector<Strand> strands_;
  std::unordered_map<std::uint32_t, Process> processes_;  // by their main strand
  std::unordered_map<std::uint32_t, PathMarks> paths_;
  std::unordered_map<std::uint32_t, std::uint32_t> current_;  // by path: the file that was opened last
  std::size_t next_change_ = 0;                               // of the scan's
  std::size_t next_existing_ = 0;                             // likewise
  std::vector<ReplayedOperation> skipped_;
};

}  // namespace sluice

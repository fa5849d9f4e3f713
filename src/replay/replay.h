// Does again what a traced program did: the same operations of the same processes and threads, each after
// what it came after, on files of its own (docs/replay.md). From one thread; a replay is several processes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

// How the time between operations, in which the program did something else, is kept.
struct ReplayPace {
  double factor = 1;  // how many times as fast; 0 = no such time at all

  // "original", "fast" or a factor above 0.
  static Result<ReplayPace> parse(std::string_view text);
};

struct ReplaySettings {
  std::string to = ".";  // a folder; the replay makes one of its own in it, and removes that
  ReplayPace pace;
  std::vector<std::string>
      stages;                      // that the files pass, as `sluice run` takes them; none = the kernel alone
  std::vector<std::string> rules;  // files of rules; their globs mean the paths that are in the trace
  bool plan = false;               // rules without stages get those of a plan
  std::vector<std::string> run_options;  // further ones for that `sluice run`, such as --config=FILE
  bool cold = false;                     // what was prepared is not in the page cache
  bool keep = false;                     // the folder stays
  std::string point;                     // of the trace; "" = the first
  // Which files count, by their paths in the trace; empty = all. Operations on others take the time that
  // they took.
  std::function<bool(const std::string&)> covers;
  double limit = 0;  // seconds that it may take with all that it makes; 0 = any
  // Told now and then what goes on: "replaying 1200 of 30000 operations".
  std::function<void(const std::string&)> progress;
};

struct ReplayedOperation {
  std::string name;  // as `sluice trace` has it
  std::uint64_t calls = 0;
  std::uint64_t differed = 0;   // whose result is another one
  double original_seconds = 0;  // in all of them
  double seconds = 0;
};

struct Replayed {
  std::uint64_t operations = 0;
  std::uint64_t skipped =
      0;  // that cannot be done again: failed opens other than of what is not or already there
  std::uint64_t processes = 0;
  std::uint64_t threads = 0;  // of all of them
  std::uint64_t files = 0;
  std::uint64_t prepared_bytes = 0;  // made beforehand
  double original_seconds = 0;       // from the begin of the first operation to the end of the last
  double seconds = 0;
  double original_io_seconds = 0;  // in operations, those of all threads added up
  double io_seconds = 0;
  double after_seconds = 0;  // until all was where it belongs, after the last operation
  double late_seconds = 0;   // mean of how much later operations began than they should have
  std::uint64_t differed = 0;
  std::vector<std::string> differences;  // the first few, for people
  std::vector<ReplayedOperation> by_operation;
  std::string trouble;  // why the trace was not whole; "" = it was
  std::string folder;   // where it was done; there no more without `keep`

  // Replayed against original time, minus one.
  [[nodiscard]] double timing_error() const;
};

// EBADMSG where it is no trace; ENOSPC where there is no room, before anything is made; EINTR where a signal
// came; ETIMEDOUT where it took longer than it may. Nothing is left behind in any case. Takes SIGINT, SIGTERM
// and SIGHUP while it runs.
Result<Replayed> replay(const std::string& trace, const ReplaySettings& settings);

struct ReplayComparison {
  std::vector<Replayed> without;  // stages
  std::vector<Replayed> with;
  // How many times as fast with them: the median over pairs, and the least and largest.
  double gain = 1;
  double least = 1;
  double largest = 1;
};

// Without and with the stages, in alternation.
Result<ReplayComparison> compare_replays(const std::string& trace, const ReplaySettings& settings,
                                         unsigned repeat);

}  // namespace sluice

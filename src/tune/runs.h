// Runs a command as `sluice run` does, by a process of its own, and natively; and what has to be done between
// two runs that are compared. The command's standard streams are ours.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "run/launch.h"

namespace sluice {

struct ProgramRun {
  Ended ended;           // with the seconds until all that Sluice had to do was done, too
  JsonBox account;       // as `sluice run --json` gives it; null where it ran natively
  bool stopped = false;  // it took longer than it may, and was ended

  // Sluice failed and has said why, and not the command, which may not have run. REQUIRES: it ran under
  // Sluice.
  [[nodiscard]] bool is_failure_of_ours() const;
  // Of the program alone. REQUIRES: the same.
  [[nodiscard]] double program_seconds() const;
  // That nothing of it was observed, or not all that it started, with what tells why; "" where all was.
  // REQUIRES: the same.
  [[nodiscard]] std::string unseen(const std::vector<std::string>& command) const;
  // What was counted of the files that it used. REQUIRES: the same, with the stage stats.
  [[nodiscard]] std::uint64_t bytes() const;
};

struct Runs {
  std::vector<std::string> command;
  std::vector<std::string> common;  // options that each `sluice run` gets, such as --catalog
  std::string scratch;              // a folder of ours, for accounts
  std::string before;               // a command line for the shell that puts outputs back; "" = none
  bool cold = false;                // caches are dropped before each run
  std::optional<off_t> input =
      {};  // where standard input began, if it is a file; each run reads it from there

  // Before the first run: whether each of them can read the same from standard input. A pipe can be read
  // once.
  [[nodiscard]] Status look_at_input();
  // Before a run: `before`, standard input and caches. An error of `before` is one.
  [[nodiscard]] Status prepare() const;
  // Under `sluice run` with these options. One that takes longer than `limit` seconds is ended.
  [[nodiscard]] Result<ProgramRun> under(const std::vector<std::string>& options,
                                         std::optional<double> limit = {}) const;
  [[nodiscard]] Result<ProgramRun> natively(std::optional<double> limit = {}) const;
};

// Whether this user may drop the page cache.
bool can_drop_caches();

}  // namespace sluice

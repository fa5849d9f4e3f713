// Runs small tools of the system, several at once, and reads what they print.
//
// Which tools there are stands in base/tools.h. A tool gets no standard input, its standard error is thrown
// away unless asked for, LC_ALL is C, and it is looked up only in the system's own folders, never in PATH.
// When time is up its process group is killed; a tool that cannot even be killed (stuck in the kernel) is
// left behind, never waited for.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/sys.h"
#include "base/tools.h"
#include "base/units.h"

namespace sluice {

struct Outcome {
  bool found = false;      // the tool exists and was started
  bool finished = false;   // it ended by itself in time
  bool truncated = false;  // it printed more than the limit, the rest was thrown away
  int status = -1;         // exit status, when finished; 128 + signal when one ended it
  std::string output;      // what it printed on standard output so far
};

enum class Errors { drop, keep };  // standard error: thrown away, or among the output

class Subprocess {
 public:
  // A tool that does not exist is not an error: its outcome says so. May be called from any thread.
  static Subprocess start(const Command& command, std::size_t limit = std::size_t{4} << 20,
                          Errors errors = Errors::drop);

  Subprocess(Subprocess&& other) noexcept;
  Subprocess& operator=(Subprocess&&) = delete;
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;
  ~Subprocess();  // kills it if it still runs

  // Waits for all of them, at most until `deadline`.
  static std::vector<Outcome> finish(std::vector<Subprocess> all,
                                     std::chrono::steady_clock::time_point deadline);

 private:
  Subprocess() = default;
  void drain();
  void reap();  // without waiting
  void kill_group();

  UniqueFd output_;
  int pid_ = -1;
  std::size_t limit_ = 0;
  Outcome outcome_;
};

// Runs a tool that must succeed. What it prints, its errors included; when it is missing, fails or takes too
// long, an error that says so and ends with the last line that it printed.
Result<std::string> run_tool(const Command& command, Duration limit = Duration(60, 0));

// The tool's full path, or "" when it is not installed.
std::string find_tool(ToolName tool);

}  // namespace sluice

// The processes that replay: `sluice-replay`, under `sluice run` where files are to pass stages.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "base/sys.h"
#include "replay/replay.h"

namespace sluice {

// What starts them: the program itself and what comes before it. `folder` is the replay's own.
Result<std::vector<std::string>> crew_command(const ReplaySettings& settings, const std::string& folder,
                                              const std::string& memory);

class Crew {
 public:
  static Result<Crew> start(const std::vector<std::string>& command);
  Crew(Crew&& other) noexcept;
  Crew& operator=(Crew&&) = delete;
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew();  // ends it where it still runs, with all that it started

  // Waits so long; whether it is over.
  bool is_over(int milliseconds);
  // REQUIRES: it is over. As waitpid() gives it.
  [[nodiscard]] int status() const { return status_; }
  // What it said on standard error: its lines, without the words that such lines begin with.
  [[nodiscard]] std::vector<std::string> said() const;

 private:
  Crew(pid_t pid, UniqueFd handle, UniqueFd errors)
      : pid_(pid), group_(pid), handle_(std::move(handle)), errors_(std::move(errors)) {}
  void end_it();

  pid_t pid_ = 0;  // 0 = it is over
  pid_t group_ = 0;
  UniqueFd handle_;
  UniqueFd errors_;
  int status_ = 0;
};

}  // namespace sluice

// Starts a program and waits for it, as if it had been started by whoever started us.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sluice {

struct Ended {
  int status = 0;  // as waitpid() gives it
  double seconds = 0;
  // Bytes that it and the processes it waited for had fetched from storage, as the kernel counts them; none
  // where an attendant waited.
  std::uint64_t fetched = 0;
};

// The library that stands between a program and libc: beside this program, or installed with it.
Result<std::string> preload_library();

// Somebody who stands by while a program runs.
class Attendant {
 public:
  Attendant() = default;
  Attendant(const Attendant&) = delete;
  Attendant& operator=(const Attendant&) = delete;
  virtual ~Attendant() = default;

  // In the child, before it becomes the program. Ends it where that cannot be.
  virtual void prepare() = 0;
  // In the parent: waits for it, and gives its status as waitpid() does. After an error it is gone.
  virtual Result<int> attend(pid_t program) = 0;
};

// SIGXFSZ is ignored here from now on; programs that are started have it as it was.
void ignore_size_signal();

// For who has something to finish when the program has ended: as long as this lives, a signal that would end
// us then is answered, and the next one does.
class Unhurried {
 public:
  Unhurried();
  Unhurried(const Unhurried&) = delete;
  Unhurried& operator=(const Unhurried&) = delete;
  ~Unhurried();
};

// For an attendant that goes on when the program has ended: signals are passed on to nobody any more.
void pass_nothing_on();

// In this environment and these. Its standard streams are ours, signals that reach us are passed on to it,
// and those that a terminal sends to both are its own; a handler that was there before is called as well. An
// error has ENOENT or EACCES where it could not be started. An attendant waits for it instead of us. When the
// program is stopped, so are we, after `before_stop`.
Result<Ended> launch(const std::vector<std::string>& command,
                     const std::vector<std::pair<std::string, std::string>>& environment,
                     Attendant* attendant = nullptr, const std::function<void()>& before_stop = {});

// What a shell says of it: its exit status, or 128 and the signal.
int exit_status(const Ended& ended);
// What programs that start others end with where there is no such status.
inline constexpr int failed_itself = 125;
inline constexpr int cannot_run = 126;
inline constexpr int not_found = 127;

}  // namespace sluice

// Starts a program and waits for it, as if it had been started by whoever started us.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sluice {

struct Ended {
  int status = 0;  // as waitpid() gives it
  double seconds = 0;
};

// The library that stands between a program and libc: beside this program, or installed with it.
Result<std::string> preload_library();

// In this environment and these. Its standard streams are ours, signals that reach us are passed on to it,
// and those that a terminal sends to both are its own. An error has ENOENT or EACCES where it could not be
// started.
Result<Ended> launch(const std::vector<std::string>& command,
                     const std::vector<std::pair<std::string, std::string>>& environment);

// What a shell says of it: its exit status, or 128 and the signal.
int exit_status(const Ended& ended);

}  // namespace sluice

// Signals that ask us to end: they are noted, so that what would be left behind can be put away first. One
// that comes while a command runs is passed on to it (run/launch.h).
#pragma once

#include "base/result.h"

namespace sluice {

// While one of them is there. From one thread. What whoever started us ignores stays ignored.
class Stop {
 public:
  Stop();
  ~Stop();
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  // EINTR once one came.
  static Status check();
  // The one that came; 0 = none.
  static int signal_number();
};

}  // namespace sluice

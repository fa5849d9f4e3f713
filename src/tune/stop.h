// Signals that ask us to end. One that comes while the command runs is passed on to it, and one during a
// replay ends that; then all of it ends. What is left behind can be put away first.
#pragma once

#include "base/result.h"

namespace sluice {

// While this is there. At most one may live at a time. What whoever started us ignores stays ignored.
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

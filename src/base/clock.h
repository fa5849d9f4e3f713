// Time that only goes forward.
#pragma once

#include <chrono>

namespace sluice {

// Seconds since some moment in the past.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace sluice

// What time it is.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

namespace sluice {

// Seconds since some moment in the past. Only goes forward.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1000000000 + time.tv_nsec;
}
// Of a clock of the kernel's, such as CLOCK_REALTIME. Needs libc alone.
inline std::int64_t nanoseconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return nanoseconds(time);
}

}  // namespace sluice

// Time as the engine has it: of the monotonic clock, or of a test's own.
#pragma once

#include <chrono>

namespace sluice::tier {

using Instant = std::chrono::nanoseconds;
inline constexpr Instant never = Instant::max();

}  // namespace sluice::tier

// How much longer a request to an emulated device takes than the device itself: through loop, FUSE and two
// processes that wake each other. Measured through the same path that users take.
#pragma once

#include <functional>
#include <string>

#include "lab/service.h"

namespace sluice::lab {

// What the device must keep for each read while it is measured, in seconds.
inline constexpr double calibration_latency = 1e-3;

// A child process begins to measure; the result can be read from the descriptor when that is readable.
// `in_child` is called there first.
Result<UniqueFd> start_calibration(const std::string& file, const std::function<void()>& in_child);
Result<Instant> read_calibration(int fd);

}  // namespace sluice::lab

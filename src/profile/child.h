// Profiles a place in a process of its own: a place that hangs keeps that process, not ours.
#pragma once

#include "profile/profile.h"

namespace sluice {

// As take_profile(). When nothing is heard of the child for `patience`, it is given up: killed, and left
// behind if the kernel holds it. REQUIRES: this process has one thread.
Result<Json> profile_in_child(const Place& place, const ProfileOptions& options, Duration patience,
                              const MeasureProgress& progress);

}  // namespace sluice

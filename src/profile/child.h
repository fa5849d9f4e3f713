// Profiles a place in a process of its own: a place that hangs keeps that process, not ours.
#pragma once

#include "base/units.h"
#include "profile/take.h"

namespace sluice {

// As take_profile(). When nothing is heard of the child for `patience`, it is given up: killed, and left
// behind if the kernel holds it. REQUIRES: this process has one thread.
Result<Profile> profile_in_child(const Place& place, const ProfileOptions& options, Duration patience,
                                 const ProfileProgress& progress);

}  // namespace sluice

// How fast a place serves a workload, from its profile. Pure.
#pragma once

#include <optional>
#include <string>

#include "forecast/throughput.h"
#include "profile/profile.h"

namespace sluice {

// Of readwrite, by the mean of the seconds of both. Nothing where the profile lacks such an access.
std::optional<Throughput> measured_throughput(const Profile& profile, const Workload& workload);
// How that came about, for people.
std::string explain_measured(const Profile& profile, const Workload& workload);

}  // namespace sluice

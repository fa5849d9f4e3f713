// What is known of how fast a place is, and the forecast that follows from all of it. Pure.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "forecast/learned.h"
#include "forecast/throughput.h"
#include "places/place.h"
#include "profile/profile.h"

namespace sluice {

// What was measured of a place, or why that does not count, and what programs took there.
struct Evidence {
  std::optional<Profile> profile = {};
  std::string why_not = {};  // "its profile is stale: ..."; "" with no profile: there is none yet
  Corrections corrections = {};
};
using Profiles = std::unordered_map<std::string, Evidence>;  // by Place::id

struct Forecast {
  Throughput throughput;
  Throughput uncorrected;  // by profile or traits alone
  bool measured = false;   // that is by a profile
  bool learned = false;    // the first is another one

  // measured, traits, or learned: either of them, corrected.
  [[nodiscard]] std::string_view source() const {
    return learned ? "learned" : measured ? "measured" : "traits";
  }
};
// By what was measured where the profile has such requests, else by traits; corrected by what programs took.
// Without evidence: null.
Forecast forecast(const Place& place, const Evidence* evidence, const Workload& workload);

// "corrected by 12 runs: x1.30 the time"; "" where nothing is.
std::string explain_correction(const Evidence* evidence, const Workload& workload);

}  // namespace sluice

// The plan: which places can take the data of an intent, how fast each would be, and why. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "forecast/throughput.h"
#include "intent/intent.h"
#include "places/place.h"
#include "plan/evidence.h"

namespace sluice {

struct Ranked {
  std::string place;
  std::string path;
  Throughput throughput;
  std::optional<double> seconds;           // for totalsize, where it was said
  std::string source;                      // where the forecast came from: measured, traits, learned
  bool measured = false;                   // a profile is behind it, corrected or not
  std::optional<double> mttdl;             // seconds
  std::optional<double> loss_probability;  // during lifetime
  std::optional<double> lifetime;          // seconds
  double merit = 0;                        // the rate in three digits, which decide
  double free_share = 0;                   // of the capacity, for ties
  const Place* where = nullptr;            // of the places that the plan was made from
  const Evidence* evidence = nullptr;      // of the profiles; null = nothing was measured
};

struct Rejection {
  std::string place;
  std::string path;
  std::vector<std::string> because;  // never empty
};

// Refers to the places and profiles that it was made from; they must outlive it.
struct Plan {
  Intent intent;
  Workload workload;                // what the forecast is about, and what it took for granted
  std::vector<Ranked> ranking;      // best first
  std::vector<Rejection> rejected;  // in the order of the places

  [[nodiscard]] const Ranked* chosen() const { return ranking.empty() ? nullptr : &ranking.front(); }
};

// Drops every place that breaks a constraint, forecasts the rest, by what was measured where there is a
// profile and by traits elsewhere, corrected by what programs took, and ranks by throughput; ties go to the
// more reliable, then to the emptier place. Corrections change no constraint.
Plan make_plan(const Intent& intent, std::span<const Place> places, const Profiles& profiles = {},
               const Usage& usage = {});

// How the numbers of a row came about, for people. Made when asked for: words take longer than numbers.
struct Reasons {
  std::string why;                      // one line
  std::vector<std::string> arithmetic;  // by measurement and by traits
};
Reasons explain(const Plan& plan, const Ranked& row);

// Whether it is by a profile that was sure of what it measured.
bool is_sure(const Ranked& row);

// The forecast of a row for another workload.
Throughput forecast(const Ranked& row, const Workload& workload);

}  // namespace sluice

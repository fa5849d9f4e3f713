// The plan: which places can take the data of an intent, how fast each would be, and why. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "forecast/throughput.h"
#include "intent/intent.h"
#include "places/place.h"

namespace sluice {

struct Ranked {
  std::string place;
  std::string path;
  Throughput throughput;
  std::optional<double> seconds;           // for totalsize, where it was said
  std::string source = "traits";           // where the forecast came from
  std::optional<double> mttdl;             // seconds
  std::optional<double> loss_probability;  // during lifetime
  std::optional<double> lifetime;          // seconds
  double free_share = 0;                   // of the capacity, for ties
  std::string why;                         // one line
  std::vector<std::string> arithmetic;     // how the numbers came about, for --explain
};

struct Rejection {
  std::string place;
  std::string path;
  std::vector<std::string> because;  // never empty
};

struct Plan {
  Intent intent;
  std::vector<std::string> assumed;  // what the forecast took for granted
  std::vector<Ranked> ranking;       // best first
  std::vector<Rejection> rejected;   // in the order of the places

  [[nodiscard]] const Ranked* chosen() const { return ranking.empty() ? nullptr : &ranking.front(); }
};

// Drops every place that breaks a constraint, forecasts the rest, and ranks by throughput; ties go to the
// more reliable, then to the emptier place.
Plan make_plan(const Intent& intent, std::span<const Place> places);

}  // namespace sluice

#include "forecast/learned.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"

namespace sluice {
namespace {

constexpr double least_weight = 0.01;   // of all runs together, to be worth a word
constexpr double bound_in_spreads = 2;  // how far the bounds are from the forecast
constexpr double least_bound = 0.1;     // in logarithms: runs that agree do not make a forecast exact
constexpr double most_ratio = 1e6;      // no clock and no model is off by more

// How much longer it took, in logarithms; nothing where the numbers are none.
std::optional<double> log_ratio(double measured, double forecast) {
  if (!(measured > 0) || !(forecast > 0) || !std::isfinite(measured / forecast)) {
    return std::nullopt;
  }
  const double most = std::log(most_ratio);
  return std::clamp(std::log(measured / forecast), -most, most);
}

struct Sample {
  double log = 0;
  double weight = 0;
};

// The forecast itself is a run that was right. The spread is around what comes out, so that few runs far from
// the forecast leave wide bounds.
Correction fit(const std::vector<Sample>& samples, std::uint64_t runs) {
  double weight = 0;
  double sum = 0;
  for (const Sample& sample : samples) {
    weight += sample.weight;
    sum += sample.weight * sample.log;
  }
  if (weight < least_weight) {
    return {};
  }
  const double mean = sum / (weight + runs_of_doubt);
  double squares = 0;
  for (const Sample& sample : samples) {
    squares += sample.weight * (sample.log - mean) * (sample.log - mean);
  }
  return {.factor = std::exp(mean), .spread = std::sqrt(squares / weight), .weight = weight, .runs = runs};
}

double percentile(std::vector<double>& values, double share) {
  if (values.empty()) {
    return 0;
  }
  const auto at = std::lround(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

}  // namespace

bool Corrections::any() const {
  return std::any_of(rows_.begin(), rows_.end(), [](const auto& row) {
    return std::any_of(row.begin(), row.end(), [](const Correction& one) { return one.any(); });
  });
}

Corrections learn(std::span<const PlaceOutcome> outcomes,
                  const std::function<Throughput(const Workload&)>& forecast, std::int64_t now) {
  Corrections out;
  for (const Operation operation : {Operation::read, Operation::write}) {
    for (const Mode mode : {Mode::direct, Mode::buffered, Mode::synced}) {
      // Kinds of requests of one run share its weight: a run is one witness.
      std::map<std::int64_t, double> kinds;
      std::vector<std::pair<const PlaceOutcome*, double>> logs;
      for (const PlaceOutcome& outcome : outcomes) {
        if (outcome.workload.operation != operation || outcome.workload.mode != mode) {
          continue;
        }
        const double rate = forecast(outcome.workload).rate;
        if (const auto log = log_ratio(outcome.seconds, outcome.bytes / rate)) {
          logs.emplace_back(&outcome, *log);
          kinds[outcome.run] += 1;
        }
      }
      std::vector<Sample> samples;
      samples.reserve(logs.size());
      for (const auto& [outcome, log] : logs) {
        // A clock that was put back makes none of them younger than now.
        const double age = std::max(0.0, static_cast<double>(now) - static_cast<double>(outcome->when));
        samples.push_back({.log = log, .weight = std::exp2(-age / half_life) / kinds[outcome->run]});
      }
      out.of(operation, mode) = fit(samples, kinds.size());
    }
  }
  return out;
}

Throughput correct(const Throughput& forecast, const Correction& correction) {
  if (!correction.any()) {
    return forecast;
  }
  const double of_runs = bound_in_spreads * correction.spread;
  const auto bound = [&](double own) {
    const double squares = runs_of_doubt * own * own + correction.weight * of_runs * of_runs;
    return std::exp(std::max(least_bound, std::sqrt(squares / (runs_of_doubt + correction.weight))));
  };
  const double rate = forecast.rate / correction.factor;
  return {.rate = rate,
          .low = forecast.low > 0 ? rate / bound(std::log(forecast.rate / forecast.low)) : 0,
          .high = rate * bound(std::log(forecast.high / forecast.rate))};
}

std::string print(const Correction& correction) {
  return fmt::format("x{:.3g} by {} run{}", correction.factor, correction.runs,
                     correction.runs == 1 ? "" : "s");
}

std::string print(const Corrections& corrections) {
  std::vector<std::string> out;
  for (const Operation operation : {Operation::read, Operation::write}) {
    for (const Mode mode : {Mode::direct, Mode::buffered, Mode::synced}) {
      if (const Correction& one = corrections.of(operation, mode); one.any()) {
        out.push_back(fmt::format("{} {} {}", print(mode), operation == Operation::write ? "write" : "read",
                                  print(one)));
      }
    }
  }
  return join(out, ", ");
}

ForecastError error_of(std::span<const PlaceOutcome> outcomes) {
  std::set<std::int64_t> runs;
  std::vector<double> told;
  std::vector<double> uncorrected;
  for (const PlaceOutcome& outcome : outcomes) {
    const auto log = log_ratio(outcome.seconds, outcome.predicted);
    const auto plain = log_ratio(outcome.seconds, outcome.modelled);
    if (log && plain) {
      runs.insert(outcome.run);
      told.push_back(std::abs(*log));
      uncorrected.push_back(std::abs(*plain));
    }
  }
  return {.runs = runs.size(),
          .median = std::expm1(percentile(told, 0.5)),
          .p90 = std::expm1(percentile(told, 0.9)),
          .median_uncorrected = std::expm1(percentile(uncorrected, 0.5))};
}

}  // namespace sluice

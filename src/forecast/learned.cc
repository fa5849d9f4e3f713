#include "forecast/learned.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "base/units.h"

namespace sluice {
namespace {

// Each up to here: latency alone, mostly latency, both, mostly bytes; beyond are bytes alone.
constexpr std::array<std::uint64_t, 4> size_classes = {std::uint64_t{4} << 10, std::uint64_t{64} << 10,
                                                       std::uint64_t{1} << 20, std::uint64_t{16} << 20};

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

RequestKind kind_of(const Workload& workload) {
  const bool write = workload.operation == Operation::write;
  const auto at = std::lower_bound(size_classes.begin(), size_classes.end(), workload.request);
  return {.write = write,
          .mode = !write && workload.mode == Mode::synced ? Mode::direct : workload.mode,
          .pattern = workload.pattern,
          .sizes = static_cast<unsigned>(at - size_classes.begin())};
}

std::uint64_t largest_of(const RequestKind& kind) {
  return kind.sizes < size_classes.size() ? size_classes[kind.sizes] : 0;
}

const Correction& Corrections::of(const Workload& workload) const {
  static const Correction none;
  const auto found = rows_.find(kind_of(workload));
  return found == rows_.end() ? none : found->second;
}

Corrections learn(std::span<const PlaceOutcome> outcomes,
                  const std::function<Throughput(const Workload&)>& forecast, std::int64_t now) {
  struct Seen {
    const PlaceOutcome* outcome;
    double log;
  };
  std::map<RequestKind, std::vector<Seen>> kinds;
  for (const PlaceOutcome& outcome : outcomes) {
    const double rate = forecast(outcome.workload).rate;
    if (const auto log = log_ratio(outcome.seconds, outcome.bytes / rate)) {
      kinds[kind_of(outcome.workload)].push_back({.outcome = &outcome, .log = *log});
    }
  }
  Corrections out;
  for (const auto& [kind, seen] : kinds) {
    // What one run made of one kind shares its weight: a run is one witness.
    std::map<std::int64_t, double> runs;
    for (const Seen& one : seen) {
      runs[one.outcome->run] += 1;
    }
    std::vector<Sample> samples;
    samples.reserve(seen.size());
    for (const Seen& one : seen) {
      // A clock that was put back makes none of them younger than now.
      const double age = std::max(0.0, static_cast<double>(now) - static_cast<double>(one.outcome->when));
      samples.push_back({.log = one.log, .weight = std::exp2(-age / half_life) / runs[one.outcome->run]});
    }
    if (const Correction correction = fit(samples, runs.size()); correction.any()) {
      out.set(kind, correction);
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
  for (const auto& [kind, correction] : corrections.rows()) {
    const std::uint64_t largest = largest_of(kind);
    out.push_back(fmt::format("{} {} {} {} {} {}", print(kind.mode),
                              kind.pattern == Pattern::random ? "random" : "sequential",
                              kind.write ? "write" : "read", largest > 0 ? "up to" : "beyond",
                              print_size(largest > 0 ? largest : size_classes.back()), print(correction)));
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

// What programs took, against what was forecast for them: a factor for each place and kind of requests. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "forecast/throughput.h"

namespace sluice {

// Requests of one kind that a program made on a place.
struct PlaceOutcome {
  std::int64_t run = 0;   // which one, for those of one run
  std::int64_t when = 0;  // seconds since 1970
  Workload workload;      // read or write, of one stream
  double bytes = 0;
  double seconds = 0;    // as measured
  double modelled = 0;   // what was forecast then, without any correction
  double predicted = 0;  // and with it, as it was told
};

struct Correction {
  double factor = 1;  // seconds measured for one that is forecast
  double spread = 0;  // of single runs around that, in logarithms
  double weight = 0;  // runs, each by its age
  std::uint64_t runs = 0;

  [[nodiscard]] bool any() const { return runs > 0; }
};

// Requests that are alike enough for one to tell of the other. What one size takes says little of another:
// small ones cost latency, large ones bandwidth.
struct RequestKind {
  bool write = false;
  Mode mode = Mode::direct;
  Pattern pattern = Pattern::sequential;
  unsigned sizes = 0;  // a class of request sizes

  auto operator<=>(const RequestKind&) const = default;
};
// A synced read is a direct one: a read cannot be flushed. REQUIRES: not readwrite.
RequestKind kind_of(const Workload& workload);
// The largest size of the class; 0 = without limit.
std::uint64_t largest_of(const RequestKind& kind);

class Corrections {
 public:
  // Of such requests; where nothing is known of them, one that is not any(). REQUIRES: not readwrite.
  [[nodiscard]] const Correction& of(const Workload& workload) const;
  void set(const RequestKind& kind, const Correction& correction) { rows_[kind] = correction; }
  [[nodiscard]] bool any() const { return !rows_.empty(); }
  [[nodiscard]] const std::map<RequestKind, Correction>& rows() const { return rows_; }

 private:
  std::map<RequestKind, Correction> rows_;
};

// A run counts half when it is that old.
constexpr double half_life = 7.0 * 86400;  // seconds
// A forecast that nobody has tried counts as much as so many runs that it was right for.
constexpr double runs_of_doubt = 1;
// What is older has no weight worth keeping.
constexpr std::int64_t outcomes_last = 70 * std::int64_t{86400};  // seconds

// Of the outcomes of one place. `forecast` is what is said of it today without corrections: a new profile or
// another sluice.toml is compared with what programs took before, and nothing is corrected twice.
Corrections learn(std::span<const PlaceOutcome> outcomes,
                  const std::function<Throughput(const Workload&)>& forecast, std::int64_t now);

// The forecast that follows. Its bounds become those that runs had, the more of them the more so.
Throughput correct(const Throughput& forecast, const Correction& correction);

// "x1.30 by 12 runs"
std::string print(const Correction& correction);
// "buffered sequential write up to 64K x1.30 by 12 runs, ..."; "" where there are none.
std::string print(const Corrections& corrections);

// How far off forecasts were: 0.5 is half as much again, or two thirds.
struct ForecastError {
  std::uint64_t runs = 0;
  double median = 0;
  double p90 = 0;
  double median_uncorrected = 0;  // had nothing been learned
};
ForecastError error_of(std::span<const PlaceOutcome> outcomes);

}  // namespace sluice

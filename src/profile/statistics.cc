#include "profile/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/median.h"

namespace sluice {
namespace {

constexpr double outlier_distance = 10;
constexpr std::size_t least_to_judge = 5;
constexpr std::size_t least_to_compare = 3;  // of fewer, none is far from the others
constexpr double gross = 4;                  // times the median: what a few values cannot differ by
constexpr double most_outliers = 0.05;       // of the values

// The values that count.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  [[nodiscard]] bool holds(double value) const { return low <= value && value <= high; }
};

Range without_outliers(std::span<const double> values) {
  if (values.size() < least_to_compare) {
    return {};
  }
  const double centre = median(values);
  if (values.size() < least_to_judge) {
    return {.low = -std::numeric_limits<double>::infinity(), .high = gross * centre};
  }
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) {
    distances.push_back(std::abs(value - centre));
  }
  const double limit = outlier_distance * std::max(median(distances), centre * 1e-3);
  const Range out{.low = centre - limit, .high = centre + limit};
  const auto outside =
      std::count_if(values.begin(), values.end(), [&](double value) { return !out.holds(value); });
  const auto most = std::max(1.0, most_outliers * static_cast<double>(values.size()));
  return static_cast<double>(outside) > most ? Range{} : out;
}

}  // namespace

double Summary::error() const {
  return kept < 2 || mean <= 0 ? std::numeric_limits<double>::infinity() : half / mean;
}

double student_90(std::size_t degrees) {
  constexpr std::array table = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812,
                                1.796, 1.782, 1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725};
  if (degrees <= table.size()) {
    return table[degrees - 1];
  }
  // Fisher and Cornish's first terms; right to four digits from here on.
  constexpr double normal = 1.6448536;
  const auto n = static_cast<double>(degrees);
  return normal + (normal * normal * normal + normal) / (4 * n) +
         (5 * std::pow(normal, 5) + 16 * std::pow(normal, 3) + 3 * normal) / (96 * n * n);
}

Summary summarize(std::span<const double> values) {
  const Range range = without_outliers(values);
  std::vector<double> kept;
  std::copy_if(values.begin(), values.end(), std::back_inserter(kept),
               [&](double value) { return range.holds(value); });
  Summary out{.mean = 0, .half = 0, .kept = kept.size(), .outliers = values.size() - kept.size()};
  for (const double value : kept) {
    out.mean += value / static_cast<double>(kept.size());
  }
  double squares = 0;
  for (const double value : kept) {
    squares += (value - out.mean) * (value - out.mean);
  }
  if (kept.size() >= 2) {
    const auto n = static_cast<double>(kept.size());
    out.half = student_90(kept.size() - 1) * std::sqrt(squares / (n - 1) / n);
  }
  return out;
}

Summary summarize_bursts(std::span<const Burst> bursts) {
  std::vector<double> all;
  for (const Burst& burst : bursts) {
    all.insert(all.end(), burst.begin(), burst.end());
  }
  const Range range = without_outliers(all);
  struct Sum {
    double seconds = 0;
    double count = 0;
  };
  std::vector<Sum> sums;
  Sum total;
  for (const Burst& burst : bursts) {
    Sum sum;
    for (const double value : burst) {
      sum.seconds += range.holds(value) ? value : 0;
      sum.count += range.holds(value) ? 1 : 0;
    }
    total.seconds += sum.seconds;
    total.count += sum.count;
    if (sum.count > 0) {
      sums.push_back(sum);
    }
  }
  Summary out{.mean = total.count > 0 ? total.seconds / total.count : 0,
              .half = 0,
              .kept = sums.size(),
              .outliers = all.size() - static_cast<std::size_t>(total.count)};
  if (sums.size() < 2) {
    return out;
  }
  double squares = 0;
  for (const Sum& sum : sums) {
    const double off = sum.seconds - sum.count * out.mean;
    squares += off * off;
  }
  const auto n = static_cast<double>(sums.size());
  out.half = student_90(sums.size() - 1) * std::sqrt(squares * n / (n - 1)) / total.count;
  return out;
}

}  // namespace sluice

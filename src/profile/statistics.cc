#include "profile/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/median.h"

namespace sluice {
namespace {

constexpr double outlier_distance = 10;
constexpr std::size_t least_to_judge = 5;
constexpr double most_outliers = 0.05;  // of the values

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
  std::vector<double> kept(values.begin(), values.end());
  if (values.size() >= least_to_judge) {
    const double centre = median(values);
    std::vector<double> distances;
    for (const double value : values) {
      distances.push_back(std::abs(value - centre));
    }
    const double limit = outlier_distance * std::max(median(distances), centre * 1e-3);
    std::erase_if(kept, [&](double value) { return std::abs(value - centre) > limit; });
    const auto most = std::max(1.0, most_outliers * static_cast<double>(values.size()));
    if (static_cast<double>(values.size() - kept.size()) > most) {
      kept.assign(values.begin(), values.end());
    }
  }
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

}  // namespace sluice

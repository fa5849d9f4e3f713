#include "tune/gain.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "profile/statistics.h"

namespace sluice {

Gain gain_of(std::span<const double> before, std::span<const double> after, double noise) {
  const std::size_t pairs = std::min(before.size(), after.size());
  if (pairs == 0) {
    return {};
  }
  double mean = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    mean += std::log(before[i] / after[i]) / static_cast<double>(pairs);
  }
  double squares = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    const double off = std::log(before[i] / after[i]) - mean;
    squares += off * off;
  }
  const double count = static_cast<double>(pairs);
  // Both of a pair are off by chance. Few pairs may agree by chance as well: never surer than the noise says.
  const double expected = std::max(noise, least_noise) * std::sqrt(2.0);
  constexpr double normal_90 = 1.645;
  const double chance = normal_90 * expected / std::sqrt(count);
  const double seen =
      pairs < 2 ? 0 : student_90(pairs - 1) * std::sqrt(squares / (count - 1)) / std::sqrt(count);
  const double half = pairs < 2 ? chance : std::max(seen, normal_90 * least_noise / std::sqrt(count));
  return {
      .ratio = std::exp(mean), .low = std::exp(mean - half), .high = std::exp(mean + half), .pairs = pairs};
}

}  // namespace sluice

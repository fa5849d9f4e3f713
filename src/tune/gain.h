// What one way of doing something gains over another, and how sure that is. Pure.
#pragma once

#include <cstddef>
#include <span>

namespace sluice {

struct Gain {
  double ratio = 1;  // before by after: 2 = in half the time
  double low = 1;    // the interval
  double high = 1;
  std::size_t pairs = 0;

  [[nodiscard]] bool is_better() const { return low > 1; }
  [[nodiscard]] bool is_worse() const { return high < 1; }
};

// Single runs of a quiet machine differ by that much at least, relative to their time.
inline constexpr double least_noise = 0.02;

// The geometric mean of the ratios of pairs of runs, with the interval of Student's t around its logarithm.
// `miss` is the chance that the interval does not hold the true ratio. One pair says nothing of the noise,
// and is taken to have the least. No half of the interval is narrower than `least`, of the logarithm. What
// one side has more than the other does not count. REQUIRES: times above 0.
Gain gain_of(std::span<const double> before, std::span<const double> after, double miss = 0.1,
             double least = 1.645 * least_noise);

// How far from 0 a value of Student's distribution is with the chance `miss`, on either side.
// REQUIRES: degrees > 0, 0 < miss < 1.
double student(std::size_t degrees, double miss);

}  // namespace sluice

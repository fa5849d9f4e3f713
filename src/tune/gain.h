// What one way of doing something gains over another, and how sure that is. Pure.
#pragma once

#include <cstddef>
#include <span>

namespace sluice {

struct Gain {
  double ratio = 1;  // before by after: 2 = in half the time
  double low = 1;    // the interval of 90 %
  double high = 1;
  std::size_t pairs = 0;

  [[nodiscard]] bool is_better() const { return low > 1; }
  [[nodiscard]] bool is_worse() const { return high < 1; }
};

// Single runs of a quiet machine differ by that much at least.
inline constexpr double least_noise = 0.02;

// Of pairs of runs, one after the other; what pairs are in one and not in the other do not count. `noise` is
// by how much one run alone differs from the next, relative to its time: with one pair it is all that is
// known. REQUIRES: times above 0.
Gain gain_of(std::span<const double> before, std::span<const double> after, double noise = least_noise);

}  // namespace sluice

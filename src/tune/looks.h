// How many pairs of runs it takes to say how much faster one way is. Pure.
//
// After some numbers of pairs the interval is looked at, and nothing is run any more once it says enough. Who
// looks several times and stops when it suits is wrong more often than each look by itself. So the intervals
// of all looks together miss the true gain no more often than the one that is stated may.
#pragma once

#include <string>
#include <vector>

#include "tune/gain.h"

namespace sluice {

// The stated interval holds the gain with 95 %.
inline constexpr double stated_miss = 0.05;
// Pairs of one hour agree with each other better than with those of another: other programs run, files lie
// elsewhere. By so much, of the logarithm, the interval goes to either side at least.
inline constexpr double other_hour = 0.08;

struct Looks {
  std::vector<std::size_t> at;  // numbers of pairs, ascending; none are run after the last
  double miss = 0;              // the chance of each look that its interval does not hold the gain

  [[nodiscard]] std::size_t least() const { return at.front(); }
  [[nodiscard]] std::size_t most() const { return at.back(); }
  // What the pairs say at a look.
  [[nodiscard]] Gain gain(std::span<const double> before, std::span<const double> after) const {
    return gain_of(before, after, miss, other_hour);
  }
  // Whether nothing is run any more after these pairs.
  [[nodiscard]] bool is_last(const Gain& gain) const;
};

// Looks that would come later than after so many seconds of runs are left out.
inline constexpr double patience_seconds = 20 * 60;

// "6 to 16", and "9" where both are alike.
std::string range_text(const std::string& least, const std::string& most);

// `repeat` pairs, and one look; 0 = as many as it takes, for runs that take `seconds` a pair.
Looks looks_for(unsigned repeat, double seconds);

}  // namespace sluice

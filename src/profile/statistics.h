// How sure a mean is. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace sluice {

struct Summary {
  double mean = 0;
  double half = 0;       // half the width of the 90 % interval of the mean
  std::size_t kept = 0;  // values that count, or bursts of them
  std::size_t outliers = 0;

  // Half the width relative to the mean; infinite with fewer than two values.
  [[nodiscard]] double error() const;
};

// Mean and its 90 % interval by Student's t. Values further from the median than ten times the median
// distance are left out: a hiccup of the machine is not the device. Where they are more than a twentieth they
// are the device: some flushes write a journal, others do not. Of three or four values, one is left out that
// is four times the median.
Summary summarize(std::span<const double> values);

// The seconds of requests that were made in a row, while the machine was in one state.
using Burst = std::vector<double>;

// The mean of all requests of all bursts, each counting alike, without outliers: those are looked for among
// all of them. The interval comes from how bursts differ, since requests of one burst are alike; a single
// burst has none.
Summary summarize_bursts(std::span<const Burst> bursts);

// The factor of Student's t for a two-sided interval of 90 %. REQUIRES: degrees > 0.
double student_90(std::size_t degrees);

}  // namespace sluice

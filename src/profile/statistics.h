// How sure a mean is. Pure.
#pragma once

#include <cstddef>
#include <span>

namespace sluice {

struct Summary {
  double mean = 0;
  double half = 0;       // half the width of the 90 % interval of the mean
  std::size_t kept = 0;  // values that count
  std::size_t outliers = 0;

  // Half the width relative to the mean; infinite with fewer than two values.
  [[nodiscard]] double error() const;
};

// Mean and its 90 % interval by Student's t. Values further from the median than ten times the median
// distance are left out: a hiccup of the machine is not the device. Where they are more than a twentieth they
// are the device: some flushes write a journal, others do not.
Summary summarize(std::span<const double> values);

// The factor of Student's t for a two-sided interval of 90 %. REQUIRES: degrees > 0.
double student_90(std::size_t degrees);

}  // namespace sluice

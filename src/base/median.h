#pragma once

#include <algorithm>
#include <span>
#include <vector>

namespace sluice {

// 0 where there are none.
inline double median(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  if (copy.empty()) {
    return 0;
  }
  const auto middle = copy.begin() + static_cast<std::ptrdiff_t>(copy.size() / 2);
  std::nth_element(copy.begin(), middle, copy.end());
  if (copy.size() % 2 == 1) {
    return *middle;
  }
  return (*middle + *std::max_element(copy.begin(), middle)) / 2;
}

}  // namespace sluice

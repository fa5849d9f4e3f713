// Which request sizes a profile reports, and which of them it measures. Pure.
//
// A grid is a list of intervals, LO:HI:GAP each (8K:64K:8K). SeRRa measures a few sizes of each interval,
// drawn at random with the extremes always among them, and works out the rest.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

struct Interval {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::uint64_t gap = 0;  // between one size and the next

  bool operator==(const Interval&) const = default;
  [[nodiscard]] std::vector<std::uint64_t> sizes() const;
};

// "8K:64K:8K,64K:4M:32K", or a name: `default` (512 B to 64 MiB) or `paper` (SeRRa's own). Intervals ascend
// and may touch; sizes are multiples of 512 up to 2 GiB, at most 100 000 of them.
Result<std::vector<Interval>> parse_grid(std::string_view text);
std::string print_grid(const std::vector<Interval>& grid);

// Every size of all intervals, ascending, each once.
std::vector<std::uint64_t> all_sizes(const std::vector<Interval>& grid);

// `points` sizes of the interval: both extremes, the others by chance, ascending. Fewer where it has fewer.
// REQUIRES: points >= 2.
std::vector<std::uint64_t> draw_sizes(const Interval& interval, std::size_t points, std::mt19937_64& random);

}  // namespace sluice

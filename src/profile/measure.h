// SeRRa's four steps on one file, and further: sizes are drawn, measured until each mean is sure, fitted with
// straight lines, and the next size is put where the lines fit worst, until the time is over or all is well.
#pragma once

#include <array>
#include <functional>
#include <string_view>
#include <vector>

#include "profile/curve.h"
#include "profile/grid.h"
#include "profile/workfile.h"

namespace sluice {

// The four tests, in the order of their index.
enum class Test { sequential_read, random_read, sequential_write, random_write };
inline constexpr std::size_t test_count = 4;
constexpr bool writes(Test test) {
  return test == Test::sequential_write || test == Test::random_write;
}
constexpr bool is_random(Test test) {
  return test == Test::random_read || test == Test::random_write;
}

struct MeasureOptions {
  std::vector<Interval> grid;
  std::size_t points = 2;       // of each interval to begin with, both extremes among them
  std::size_t repetitions = 0;  // so many of each, or 0: until the mean is sure
  double bound = 0.10;          // sure means that the 90 % interval is this narrow, relative
  double seconds = 15;          // all in all
  std::uint64_t file = 0;       // size of the file; 0 = what the time allows
  std::uint64_t room = 0;       // the most that the file may take
  std::uint64_t seed = 1;
};

struct Curves {
  std::array<Curve, test_count> tests;
  std::uint64_t file = 0;        // size of the file
  std::uint64_t largest = 0;     // the largest request that was measured
  std::size_t requests = 0;      // how many, in all
  std::uint64_t bytes_read = 0;  // asked for
  std::uint64_t bytes_written = 0;
  double seconds = 0;  // what it took
  bool sure = false;   // every point within the bound, and the lines too
};

// Progress for people: what is done, from 0 to 1.
using MeasureProgress = std::function<void(double share, std::string_view what)>;

// REQUIRES: an empty file.
Result<Curves> measure_curves(WorkFile& file, const MeasureOptions& options, const MeasureProgress& progress);

}  // namespace sluice

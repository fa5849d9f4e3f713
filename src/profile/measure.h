// SeRRa's steps, and further: sizes are measured until each mean is sure, fitted with straight lines, and the
// next size is put where the lines fit worst, until the time is over or all is well.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "profile/curve.h"
#include "profile/stream.h"

namespace sluice {

struct MeasureOptions {
  std::span<const Access> accesses;
  std::vector<std::uint64_t> first;             // sizes that are measured in any case
  std::vector<std::uint64_t> candidates;        // and those among which the further ones are
  std::span<const std::uint64_t> boundaries;    // sizes at which lines may meet
  std::span<const Curve> earlier;               // by index_of(): what a profile before this one measured
  std::size_t repetitions = 0;                  // so many bursts of each, or 0: until the mean is sure
  double bound = 0.10;                          // sure means that the 90 % interval is this narrow, relative
  double seconds = 10;                          // all in all
  std::function<void(std::string_view)> pause;  // called before each size with what comes next
};

// By index_of(); empty where it was not asked for.
using MeasuredCurves = std::array<Curve, access_count>;

Result<MeasuredCurves> measure_curves(Stream& stream, const MeasureOptions& options);

}  // namespace sluice

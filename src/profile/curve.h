// Seconds of one request as a function of its size: straight lines, one after another, through measured
// points. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sluice {

// What was measured at one size.
struct Measured {
  std::uint64_t size = 0;
  double seconds = 0;           // of one request, in the mean
  double half = 0;              // half of its 90 % interval
  std::size_t repetitions = 0;  // bursts of requests that count
  std::size_t outliers = 0;     // single requests that were left out

  bool operator==(const Measured&) const = default;
};

// Both together, as if they had been measured at once. REQUIRES: the same size.
Measured pooled(const Measured& a, const Measured& b);

// seconds = base + slope * size, from one size to another.
struct CurveLine {
  double from = 0;
  double to = 0;
  double base = 0;
  double slope = 0;
  double error = 0;  // how far off it may be, relative

  [[nodiscard]] double at(double size) const { return base + slope * size; }
};

struct Estimate {
  double seconds = 0;
  double low = 0;
  double high = 0;
};

struct Curve {
  std::vector<Measured> points;  // by size
  std::vector<CurveLine> lines;  // by size

  // Beyond the last point the last line goes on, with a bound that grows. REQUIRES: lines.
  [[nodiscard]] Estimate at(double size) const;
  [[nodiscard]] bool empty() const { return lines.empty(); }
};

// The seconds of the one by those of the other. REQUIRES: neither is empty.
Estimate ratio(const Curve& over, const Curve& under, double size);

// How sure a curve is: nine of ten points have an interval that is, relative, no wider, and lie no further
// outside of it from their line. The tenth may be chance.
struct Doubt {
  double interval = 0;
  double line = 0;
};
Doubt doubt(const Curve& curve);

// Lines for the points between each two boundaries (ends of the grid's intervals). Where one line is off by
// more than `tolerance`, relative, at some point, it is broken in two. Single points that disagree with all
// others count less (Huber). REQUIRES: points by size, all seconds above zero.
Curve fit(std::vector<Measured> points, std::span<const std::uint64_t> boundaries, double tolerance = 0.05);

// The size among `candidates` at which a further point would tell most: in the middle of the gap where the
// points bend most. Nothing when all are measured.
std::optional<std::uint64_t> most_wanted(const Curve& curve, std::span<const std::uint64_t> candidates);

}  // namespace sluice

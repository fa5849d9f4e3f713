#include "profile/curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "profile/statistics.h"

namespace sluice {
namespace {

using Points = std::span<const Measured>;

double relative_half(const Measured& point) {
  return point.half / point.seconds;
}

double residual(const CurveLine& line, const Measured& point) {
  return line.at(static_cast<double>(point.size)) / point.seconds - 1;
}

// Least squares of the relative deviations: a microsecond matters at 4 KiB and not at 64 MiB.
CurveLine weighted_line(Points points, std::span<const double> weights) {
  double sum = 0;
  double x = 0;
  double y = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    sum += weights[i];
    x += weights[i] * static_cast<double>(points[i].size);
    y += weights[i] * points[i].seconds;
  }
  x /= sum;
  y /= sum;
  double xx = 0;
  double xy = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double dx = static_cast<double>(points[i].size) - x;
    xx += weights[i] * dx * dx;
    xy += weights[i] * dx * (points[i].seconds - y);
  }
  const double slope = xx > 0 ? xy / xx : 0;
  return {.from = static_cast<double>(points.front().size),
          .to = static_cast<double>(points.back().size),
          .base = y - slope * x,
          .slope = slope};
}

CurveLine straight_line(Points points) {
  std::vector<double> weights;
  for (const Measured& point : points) {
    weights.push_back(1 / (point.seconds * point.seconds));
  }
  CurveLine line = weighted_line(points, weights);
  // Huber: beyond 1.5 times the usual deviation a point counts in proportion only.
  for (int round = 0; round < 10 && points.size() > 3; ++round) {
    std::vector<double> deviations;
    for (const Measured& point : points) {
      deviations.push_back(std::abs(residual(line, point)));
    }
    std::vector<double> sorted = deviations;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2),
                     sorted.end());
    const double limit = 1.5 * 1.4826 * std::max(sorted[sorted.size() / 2], 1e-6);
    for (std::size_t i = 0; i < points.size(); ++i) {
      weights[i] =
          std::min(1.0, limit / std::max(deviations[i], 1e-12)) / (points[i].seconds * points[i].seconds);
    }
    line = weighted_line(points, weights);
  }
  for (const Measured& point : points) {
    line.error = std::max(line.error, std::abs(residual(line, point)) + relative_half(point));
  }
  return line;
}

double squares(const CurveLine& line, Points points) {
  double out = 0;
  for (const Measured& point : points) {
    out += residual(line, point) * residual(line, point);
  }
  return out;
}

double worst_residual(const CurveLine& line, Points points) {
  double out = 0;
  for (const Measured& point : points) {
    out = std::max(out, std::abs(residual(line, point)) - relative_half(point));
  }
  return out;
}

// One line, or two that share the point at which they meet, and so on.
void fit_piece(Points points, double tolerance, std::vector<CurveLine>& out) {
  const CurveLine whole = straight_line(points);
  if (points.size() < 4 || worst_residual(whole, points) <= tolerance) {
    out.push_back(whole);
    return;
  }
  std::size_t best = 0;
  double least = squares(whole, points);
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const Points left = points.first(i + 1);
    const Points right = points.subspan(i);
    const double sum = squares(straight_line(left), left) + squares(straight_line(right), right);
    if (sum < least) {
      least = sum;
      best = i;
    }
  }
  if (best == 0) {
    out.push_back(whole);
    return;
  }
  fit_piece(points.first(best + 1), tolerance, out);
  fit_piece(points.subspan(best), tolerance, out);
}

double least_of(Points points) {
  double out = std::numeric_limits<double>::infinity();
  for (const Measured& point : points) {
    out = std::min(out, point.seconds);
  }
  return out / 2;
}

// Sum of the squared deviations from the mean that the interval came from. A single one has none.
double squared_deviations(const Measured& one, double count) {
  if (count < 2) {
    return 0;
  }
  const double deviation = one.half * std::sqrt(count) / student_90(static_cast<std::size_t>(count) - 1);
  return (count - 1) * deviation * deviation;
}

}  // namespace

Measured pooled(const Measured& a, const Measured& b) {
  if (a.repetitions == 0 || b.repetitions == 0) {
    return a.repetitions == 0 ? b : a;
  }
  const auto count_a = static_cast<double>(a.repetitions);
  const auto count_b = static_cast<double>(b.repetitions);
  const double count = count_a + count_b;
  const double mean = (count_a * a.seconds + count_b * b.seconds) / count;
  const double between =
      count_a * (a.seconds - mean) * (a.seconds - mean) + count_b * (b.seconds - mean) * (b.seconds - mean);
  const double deviation =
      std::sqrt((squared_deviations(a, count_a) + squared_deviations(b, count_b) + between) / (count - 1));
  return {.size = a.size,
          .seconds = mean,
          .half = student_90(static_cast<std::size_t>(count) - 1) * deviation / std::sqrt(count),
          .repetitions = a.repetitions + b.repetitions,
          .outliers = a.outliers + b.outliers};
}

Curve fit(std::vector<Measured> points, std::span<const std::uint64_t> boundaries, double tolerance) {
  Curve out;
  out.points = std::move(points);
  const Points all = out.points;
  if (all.size() == 1) {
    out.lines.push_back(straight_line(all));
  }
  // Neighbours share the point at which they meet, so that there is no gap between them.
  for (std::size_t first = 0; first + 1 < all.size();) {
    const auto boundary = std::lower_bound(boundaries.begin(), boundaries.end(), all[first + 1].size);
    const std::uint64_t end = boundary == boundaries.end() ? UINT64_MAX : *boundary;
    std::size_t last = first + 1;
    while (last + 1 < all.size() && all[last + 1].size <= end) {
      ++last;
    }
    fit_piece(all.subspan(first, last - first + 1), tolerance, out.lines);
    first = last;
  }
  return out;
}

Estimate Curve::at(double size) const {
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&](const CurveLine& line) { return size <= line.to; });
  const CurveLine& line = found == lines.end() ? lines.back() : *found;
  Estimate out;
  // What is smaller than anything measured costs as much: it is the latency that counts there. Noise must not
  // make a line fall below all that was measured.
  out.seconds = std::max(line.at(std::clamp(size, lines.front().from, line.to)), least_of(points));
  // Beyond the last point its line goes on, where the bytes were a good part of its time; where they were not
  // it tells nothing of them, and a request is supposed to cost as much a byte as the largest did.
  double from = out.seconds;
  if (size > line.to) {
    const bool tells = line.slope * line.to >= 0.2 * out.seconds;
    out.seconds += (size - line.to) * (tells ? line.slope : out.seconds / line.to);
    from = tells ? out.seconds : from;
  }
  // Outside of what was measured the bound grows with the distance.
  const double outside = size > line.to ? size / line.to - 1 : size < line.from ? line.from / size - 1 : 0;
  const double error = line.error + 0.1 * std::min(outside, 100.0);
  out.low = from / (1 + error);
  out.high = out.seconds * (1 + error);
  return out;
}

// Both are off by chance of their own: their doubts add up as errors do, by squares of logarithms.
Estimate ratio(const Curve& over, const Curve& under, double size) {
  const Estimate a = over.at(size);
  const Estimate b = under.at(size);
  const double out = a.seconds / b.seconds;
  const double down = std::hypot(std::log(a.seconds / a.low), std::log(b.high / b.seconds));
  const double up = std::hypot(std::log(a.high / a.seconds), std::log(b.seconds / b.low));
  return {.seconds = out, .low = out * std::exp(-down), .high = out * std::exp(up)};
}

Doubt doubt(const Curve& curve) {
  std::vector<double> intervals;
  std::vector<double> distances;
  auto line = curve.lines.begin();
  for (const Measured& point : curve.points) {
    while (line + 1 != curve.lines.end() && static_cast<double>(point.size) > line->to) {
      ++line;
    }
    intervals.push_back(relative_half(point));
    distances.push_back(std::max(0.0, std::abs(residual(*line, point)) - relative_half(point)));
  }
  const auto ninth = [](std::vector<double>& values) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) * 9 / 10);
    std::nth_element(values.begin(), at, values.end());
    return *at;
  };
  return curve.points.empty() ? Doubt{} : Doubt{.interval = ninth(intervals), .line = ninth(distances)};
}

std::optional<std::uint64_t> most_wanted(const Curve& curve, std::span<const std::uint64_t> candidates) {
  const Points points = curve.points;
  std::optional<std::uint64_t> out;
  double best = -1;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const auto low = static_cast<double>(points[i].size);
    const auto high = static_cast<double>(points[i + 1].size);
    // How far the inner neighbours lie from the straight way between those around them.
    double bend = 1e-6;
    for (const std::size_t j : {i, i + 1}) {
      if (j == 0 || j + 1 >= points.size()) {
        continue;
      }
      const Measured& before = points[j - 1];
      const Measured& after = points[j + 1];
      const double share =
          static_cast<double>(points[j].size - before.size) / static_cast<double>(after.size - before.size);
      const double straight = before.seconds + share * (after.seconds - before.seconds);
      bend = std::max(bend, std::abs(straight / points[j].seconds - 1));
    }
    const double score = bend * std::log(high / low);
    // The candidate nearest to the geometric middle that lies inside.
    const double middle = std::sqrt(low * high);
    std::optional<std::uint64_t> nearest;
    double distance = std::numeric_limits<double>::infinity();
    const auto begin = std::upper_bound(candidates.begin(), candidates.end(), points[i].size);
    const auto end = std::lower_bound(begin, candidates.end(), points[i + 1].size);
    for (auto at = begin; at != end; ++at) {
      const double away = std::abs(std::log(static_cast<double>(*at) / middle));
      if (away < distance) {
        distance = away;
        nearest = *at;
      }
    }
    if (nearest && score > best) {
      best = score;
      out = nearest;
    }
  }
  return out;
}

}  // namespace sluice

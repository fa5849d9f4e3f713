// A line chart as SVG text that any browser opens: axes with round ticks, linear or logarithmic, a legend.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace sluice {

struct Point {
  double x = 0;
  double y = 0;
};

struct Series {
  std::string name;
  std::vector<Point> points;
  bool markers = false;          // a dot at every point: measured values
  std::vector<Point> dots = {};  // measured values beside a line that does not go through them
};

enum class Unit { number, bytes, rate, seconds };  // how tick labels are written

struct Axis {
  std::string title;
  Unit unit = Unit::number;
  bool logarithmic = false;
};

struct Chart {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Series> series;
};

// Points that are not finite, or not positive on a logarithmic axis, are left out and the line breaks there.
std::string draw(const Chart& chart);
// One below another.
std::string draw(std::span<const Chart> charts);

}  // namespace sluice

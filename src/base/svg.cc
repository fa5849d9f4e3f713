#include "base/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "base/units.h"

namespace sluice {
namespace {

constexpr double left = 90;
constexpr double top = 48;
constexpr double plot_width = 560;
constexpr double plot_height = 340;
constexpr double legend_width = 190;
constexpr double total_width = left + plot_width + legend_width;
constexpr double total_height = top + plot_height + 62;

// Told apart by people with colour-blindness too (Okabe and Ito's set); dashes repeat after it is used up.
constexpr std::array colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};
constexpr std::array dashes = {"", "6 3", "2 3", "8 3 2 3"};

std::string label(double value, Unit unit) {
  switch (unit) {
    case Unit::number:
      return fmt::format("{:g}", value);
    case Unit::bytes:
      return print_size(static_cast<std::uint64_t>(std::llround(value)));
    case Unit::rate:
      return human_rate(value);
    case Unit::seconds:
      return value == 0 ? "0" : human_duration(value);
  }
  return {};
}

// Maps values of one axis to 0..1 and knows its ticks.
class Scale {
 public:
  Scale(const Axis& axis, double low, double high) : axis_(axis), low_(low), high_(high) {
    if (!(low_ <= high_)) {
      low_ = axis.logarithmic ? 1 : 0;
      high_ = 10;
    }
    if (!axis.logarithmic && low_ > 0) {
      low_ = 0;  // a linear axis that does not start at zero exaggerates
    }
    if (low_ == high_) {
      high_ = low_ == 0 ? 1 : low_ * 2;
    }
  }

  [[nodiscard]] bool holds(double value) const {
    return std::isfinite(value) && (!axis_.logarithmic || value > 0);
  }

  [[nodiscard]] double at(double value) const {
    return axis_.logarithmic ? std::log(value / low_) / std::log(high_ / low_)
                             : (value - low_) / (high_ - low_);
  }

  [[nodiscard]] std::vector<double> ticks() const {
    std::vector<double> out = axis_.logarithmic ? logarithmic_ticks() : std::vector<double>{};
    return out.size() < 3 ? linear_ticks() : out;
  }

 private:
  [[nodiscard]] double base() const { return axis_.unit == Unit::bytes || axis_.unit == Unit::rate ? 2 : 10; }

  [[nodiscard]] std::vector<double> logarithmic_ticks() const {
    std::vector<double> out;
    const double first = std::floor(std::log(low_) / std::log(base()));
    const double last = std::floor(std::log(high_) / std::log(base()) + 1e-9);
    const double step = std::max(1.0, std::ceil((last - first) / 9));
    const bool fine = base() == 10 && last - first < 3;  // a few decades only: 1, 2, 5, 10
    for (double power = first; power <= last; power += step) {
      for (const double digit : {1.0, 2.0, 5.0}) {
        const double tick = digit * std::pow(base(), power);
        if ((digit == 1 || fine) && tick >= low_ * (1 - 1e-9) && tick <= high_ * (1 + 1e-9)) {
          out.push_back(tick);
        }
      }
    }
    return out;
  }

  [[nodiscard]] std::vector<double> linear_ticks() const {
    std::vector<double> out;
    double step = std::pow(base(), std::floor(std::log((high_ - low_) / 5) / std::log(base())));
    while ((high_ - low_) / step > 8) {
      step *= 2;
    }
    for (double tick = std::ceil(low_ / step) * step; tick <= high_ * (1 + 1e-9); tick += step) {
      out.push_back(tick);
    }
    return out;
  }

  const Axis& axis_;
  double low_;
  double high_;
};

template <class Get>
Scale scale_of(const Chart& chart, const Axis& axis, Get get) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const Series& series : chart.series) {
    for (const auto* points : {&series.points, &series.dots}) {
      for (const Point& point : *points) {
        const double value = get(point);
        if (std::isfinite(value) && (!axis.logarithmic || value > 0)) {
          low = std::min(low, value);
          high = std::max(high, value);
        }
      }
    }
  }
  return {axis, low, high};
}

std::string open_svg(double y, double height) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" y=\"{0:g}\" width=\"{1:g}\" height=\"{2:g}\" "
      "viewBox=\"0 0 {1:g} {2:g}\" font-family=\"sans-serif\" font-size=\"12\">\n",
      y, total_width, height);
}

std::string draw_at(const Chart& chart, double y_offset) {
  const Scale x = scale_of(chart, chart.x, [](const Point& point) { return point.x; });
  const Scale y = scale_of(chart, chart.y, [](const Point& point) { return point.y; });
  const auto px = [&](double value) { return left + x.at(value) * plot_width; };
  const auto py = [&](double value) { return top + (1 - y.at(value)) * plot_height; };
  const double bottom = top + plot_height;

  std::string out = open_svg(y_offset, total_height);
  out += fmt::format(
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
      "<text x=\"{:g}\" y=\"26\" font-size=\"16\" font-weight=\"bold\">{}</text>\n",
      left, escape_xml(chart.title));
  for (const double tick : x.ticks()) {
    out += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1:g}\" x2=\"{0:.1f}\" y2=\"{2:g}\" stroke=\"#e0e0e0\"/>"
        "<text x=\"{0:.1f}\" y=\"{3:g}\" text-anchor=\"middle\">{4}</text>\n",
        px(tick), top, bottom, bottom + 18, label(tick, chart.x.unit));
  }
  for (const double tick : y.ticks()) {
    out += fmt::format(
        "<line x1=\"{0:g}\" y1=\"{1:.1f}\" x2=\"{2:g}\" y2=\"{1:.1f}\" stroke=\"#e0e0e0\"/>"
        "<text x=\"{3:g}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        left, py(tick), left + plot_width, left - 6, py(tick) + 4, label(tick, chart.y.unit));
  }
  out += fmt::format(
      "<rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" fill=\"none\" stroke=\"#808080\"/>\n"
      "<text x=\"{:g}\" y=\"{:g}\" text-anchor=\"middle\">{}</text>\n"
      "<text transform=\"translate(16 {:g}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      left, top, plot_width, plot_height, left + plot_width / 2, bottom + 42, escape_xml(chart.x.title),
      top + plot_height / 2, escape_xml(chart.y.title));

  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    const char* colour = colours[i % colours.size()];
    const char* dash = dashes[i / colours.size() % dashes.size()];
    std::string path;
    bool drawing = false;
    for (const Point& point : series.points) {
      if (!x.holds(point.x) || !y.holds(point.y)) {
        drawing = false;
        continue;
      }
      path += fmt::format("{}{:.1f} {:.1f}",
                          drawing        ? " L"
                          : path.empty() ? "M"
                                         : " M",
                          px(point.x), py(point.y));
      drawing = true;
    }
    if (!path.empty()) {
      out += fmt::format(
          "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"/>\n", path,
          colour, dash);
    }
    for (const Point& point : series.markers ? series.points : series.dots) {
      if (x.holds(point.x) && y.holds(point.y)) {
        out += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{}: {}</title></circle>\n",
            px(point.x), py(point.y), colour, label(point.x, chart.x.unit), label(point.y, chart.y.unit));
      }
    }
    const double line = top + 10 + 20 * static_cast<double>(i);
    out += fmt::format(
        "<line x1=\"{0:g}\" y1=\"{1:g}\" x2=\"{2:g}\" y2=\"{1:g}\" stroke=\"{3}\" stroke-width=\"2\" "
        "stroke-dasharray=\"{4}\"/><text x=\"{5:g}\" y=\"{6:g}\">{7}</text>\n",
        left + plot_width + 14, line, left + plot_width + 40, colour, dash, left + plot_width + 46, line + 4,
        escape_xml(series.name));
  }
  return out + "</svg>\n";
}

}  // namespace

std::string draw(const Chart& chart) {
  return draw_at(chart, 0);
}

std::string draw(std::span<const Chart> charts) {
  std::string out = open_svg(0, total_height * static_cast<double>(charts.size()));
  for (std::size_t i = 0; i < charts.size(); ++i) {
    out += draw_at(charts[i], total_height * static_cast<double>(i));
  }
  return out + "</svg>\n";
}

}  // namespace sluice

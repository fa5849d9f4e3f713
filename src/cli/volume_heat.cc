#include "cli/volume_heat.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "base/units.h"

namespace sluice {
namespace {

constexpr std::array<const char*, 6> tier_colours = {"#d1495b", "#edae49", "#30638e",
                                                     "#66a182", "#8d6a9f", "#777777"};

struct Bucket {
  double score = 0;
  std::size_t tier = 0;  // that most of it is on
  bool written = false;
};

std::vector<Bucket> buckets_of(const Json& heat) {
  std::vector<Bucket> out;
  for (const Json& row : heat.at("buckets")) {
    Bucket bucket{.score = row.at("score"), .tier = 0, .written = false};
    std::uint64_t most = 0;
    const Json& tiers = row.at("tiers");
    for (std::size_t i = 0; i < tiers.size(); ++i) {
      const std::uint64_t count = tiers[i];
      if (count > most) {
        most = count;
        bucket.tier = i;
        bucket.written = true;
      }
    }
    out.push_back(bucket);
  }
  return out;
}

// Scores differ by orders of magnitude: 0 to 1 on a logarithmic scale.
double level(double score, double hottest) {
  return hottest <= 0 ? 0 : std::log1p(score) / std::log1p(hottest);
}

double hottest_of(const std::vector<Bucket>& buckets) {
  double out = 0;
  for (const Bucket& bucket : buckets) {
    out = std::max(out, bucket.score);
  }
  return out;
}

}  // namespace

std::string heat_text(const Json& heat, const Style&, unsigned columns) {
  static constexpr std::array<const char*, 9> blocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::vector<Bucket> buckets = buckets_of(heat);
  const double hottest = hottest_of(buckets);
  std::string out;
  for (std::size_t first = 0; first < buckets.size(); first += columns) {
    const std::size_t end = std::min(buckets.size(), first + columns);
    std::string bars;
    std::string tiers;
    for (std::size_t i = first; i < end; ++i) {
      const auto height = static_cast<std::size_t>(std::lround(level(buckets[i].score, hottest) * 8));
      bars += blocks[height];
      tiers += buckets[i].written ? static_cast<char>('0' + std::min<std::size_t>(buckets[i].tier, 9)) : '.';
    }
    out += bars + "\n" + tiers + "\n";
  }
  const auto& names = heat.at("tiers");
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += fmt::format("{}{} = {}", i == 0 ? "" : ", ", i, names[i].get<std::string>());
  }
  const std::uint64_t per = heat.at("buckets").empty()
                                ? 0
                                : heat.at("buckets").front().at("chunks").get<std::uint64_t>() *
                                      heat.at("chunk_size").get<std::uint64_t>();
  out += fmt::format(", . = never written; a column is {}, the highest has score {:.1f}\n", human_size(per),
                     hottest);
  return out;
}

std::string heat_svg(const Json& heat) {
  const std::vector<Bucket> buckets = buckets_of(heat);
  const double hottest = hottest_of(buckets);
  constexpr double width = 900;
  constexpr double height = 200;
  constexpr double top = 40;
  constexpr double left = 10;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n"
      "<text x=\"{}\" y=\"20\" font-size=\"15\">Heat of the volume {}</text>\n",
      width + 2 * left, height + top + 60, left, escape_xml(heat.at("name").get<std::string>()));
  const double step = buckets.empty() ? width : width / static_cast<double>(buckets.size());
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const Bucket& bucket = buckets[i];
    const double x = left + static_cast<double>(i) * step;
    const double tall = level(bucket.score, hottest) * height;
    const char* const colour =
        bucket.written ? tier_colours[std::min(bucket.tier, tier_colours.size() - 1)] : "#e5e5e5";
    out += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"/>\n",
                       x, top + height - tall, step, tall, colour);
    out += fmt::format("<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"8\" fill=\"{}\"/>\n", x,
                       top + height + 2, step, colour);
  }
  double x = left;
  const auto& names = heat.at("tiers");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = names[i];
    out += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/>"
        "<text x=\"{}\" y=\"{}\">{}</text>\n",
        x, top + height + 22, tier_colours[std::min(i, tier_colours.size() - 1)], x + 16, top + height + 33,
        escape_xml(name));
    x += 40 + 8 * static_cast<double>(name.size());
  }
  out += fmt::format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">height: score, logarithmic; hottest "
      "{:.1f}</text>\n</svg>\n",
      left + width, top + height + 33, hottest);
  return out;
}

}  // namespace sluice

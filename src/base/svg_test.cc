#include "base/svg.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t out = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++out;
  }
  return out;
}

TEST(Chart, LeavesOutWhatCannotBeDrawn) {
  Chart chart{
      .title = "a < b & \"c\"",
      .x = {.title = "size", .unit = Unit::bytes, .logarithmic = true},
      .y = {.title = "rate", .unit = Unit::rate, .logarithmic = true},
      .series = {
          {.name = "one", .points = {{512, 1e6}, {1024, 0}, {4096, 1e8}, {8192, 2e8}}, .markers = true}}};
  const std::string text = draw(chart);
  EXPECT_NE(text.find("a &lt; b &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_EQ(text.find("nan"), std::string::npos);
  EXPECT_EQ(text.find("inf"), std::string::npos);
  // The line is broken where the zero was: two moves, one of them followed by a line; three dots.
  EXPECT_NE(text.find(" M"), std::string::npos);
  EXPECT_EQ(count(text, "<circle"), 3U);
  EXPECT_NE(text.find(">4K<"), std::string::npos);
}

TEST(Chart, DrawsEmptyAndFlatData) {
  EXPECT_NE(draw(Chart{}).find("</svg>"), std::string::npos);
  const Chart flat{
      .title = "", .x = {}, .y = {}, .series = {{.name = "", .points = {{1, 5}, {1, 5}}, .markers = false}}};
  EXPECT_EQ(draw(flat).find("nan"), std::string::npos);
}

TEST(Chart, DotsLieBesideTheirLine) {
  Chart chart{.title = "",
              .x = {},
              .y = {},
              .series = {{.name = "", .points = {{0, 1}, {1, 1}}, .dots = {{0.5, 2}, {0.6, 0.5}}}}};
  const std::string text = draw(chart);
  EXPECT_EQ(count(text, "<path"), 1U);
  EXPECT_EQ(count(text, "<circle"), 2U);
  EXPECT_NE(text.find("<title>0.5: 2</title>"), std::string::npos);
  EXPECT_EQ(text.find("cy=\"-"), std::string::npos) << "the scale holds the dots too";
}

TEST(Chart, AShortLogarithmicAxisHasTicksToo) {
  const auto ticks = [](double low, double high) {
    const Chart chart{.title = "",
                      .x = {},
                      .y = {.title = "", .unit = Unit::number, .logarithmic = true},
                      .series = {{.name = "", .points = {{0, low}, {1, high}}}}};
    return count(draw(chart), "text-anchor=\"end\"");
  };
  EXPECT_GE(ticks(0.9, 1.3), 3U);
  EXPECT_GE(ticks(3, 40), 3U);
  EXPECT_GE(ticks(2, 3e9), 3U);
  EXPECT_LE(ticks(1e-9, 1e9), 12U);
}

TEST(Chart, SeveralStandOneBelowAnother) {
  const std::vector<Chart> charts = {{.title = "one", .x = {}, .y = {}, .series = {}},
                                     {.title = "two", .x = {}, .y = {}, .series = {}}};
  const std::string text = draw(charts);
  EXPECT_EQ(count(text, "<svg"), 3U);
  EXPECT_EQ(count(text, "</svg>"), 3U);
  EXPECT_LT(text.find(">one<"), text.find(">two<"));
  EXPECT_EQ(count(text, " y=\"0\" width"), 2U) << "the whole and the first";
}

}  // namespace
}  // namespace sluice

#include "profile/grid.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "profile/statistics.h"

namespace sluice {
namespace {

using testing::HasSubstr;

TEST(Grid, ThePapersHas135Sizes) {
  const auto grid = parse_grid("paper");
  ASSERT_TRUE(grid);
  EXPECT_EQ(print_grid(*grid), "8K:64K:8K,64K:4M:32K");
  const auto sizes = all_sizes(*grid);
  EXPECT_EQ(sizes.size(), 8U + 126U);
  EXPECT_EQ(sizes.front(), 8U << 10);
  EXPECT_EQ(sizes.back(), 4U << 20);
  EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end()));
  EXPECT_EQ(std::adjacent_find(sizes.begin(), sizes.end()), sizes.end());
}

TEST(Grid, ReadsBackWhatItPrints) {
  for (const char* text : {"default", "paper", "512:512:512", "4K:10K:4K", "1M:2G:64M"}) {
    const auto grid = parse_grid(text);
    ASSERT_TRUE(grid) << text;
    EXPECT_EQ(*parse_grid(print_grid(*grid)), *grid);
  }
}

TEST(Grid, WhatIsImpossibleIsRefusedWithTheReason) {
  const auto wrong = [](const char* text) { return parse_grid(text) ? "" : parse_grid(text).error().text(); };
  EXPECT_THAT(wrong("8K"), HasSubstr("LO:HI:GAP"));
  EXPECT_THAT(wrong("64K:8K:8K"), HasSubstr("empty"));
  EXPECT_THAT(wrong("8K:64K:0"), HasSubstr("no gap"));
  EXPECT_THAT(wrong("0:64K:8K"), HasSubstr("multiple of 512"));
  EXPECT_THAT(wrong("100:64K:8K"), HasSubstr("multiple of 512"));
  EXPECT_THAT(wrong("8K:4G:8K"), HasSubstr("2G"));
  EXPECT_THAT(wrong("512:2G:512"), HasSubstr("more than"));
  EXPECT_THAT(wrong("8K:64K:8K,32K:1M:8K"), HasSubstr("ascend"));
  EXPECT_THAT(wrong(""), HasSubstr("LO:HI:GAP"));
  EXPECT_THAT(wrong("a:b:c"), HasSubstr("a"));
}

TEST(Grid, TheExtremesAreAlwaysDrawn) {
  const Interval interval{.low = 8192, .high = 65536, .gap = 8192};
  std::mt19937_64 random(1);
  bool differ = false;
  auto before = draw_sizes(interval, 4, random);
  for (int i = 0; i < 20; ++i) {
    const auto sizes = draw_sizes(interval, 4, random);
    ASSERT_EQ(sizes.size(), 4U);
    EXPECT_EQ(sizes.front(), 8192U);
    EXPECT_EQ(sizes.back(), 65536U);
    EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end()));
    differ = differ || sizes != before;
  }
  EXPECT_TRUE(differ);
  EXPECT_EQ(draw_sizes(interval, 100, random).size(), 8U);
}

TEST(Statistics, StudentsFactors) {
  EXPECT_NEAR(student_90(1), 6.314, 1e-3);
  EXPECT_NEAR(student_90(10), 1.812, 1e-3);
  EXPECT_NEAR(student_90(21), 1.721, 1e-3);
  EXPECT_NEAR(student_90(30), 1.697, 1e-3);
  EXPECT_NEAR(student_90(1'000'000), 1.645, 1e-3);
}

TEST(Statistics, TheIntervalHoldsTheTrueMeanNineTimesInTen) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(10, 2);
  int held = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> values(6);
    std::generate(values.begin(), values.end(), [&] { return normal(random); });
    const Summary summary = summarize(values);
    held += std::abs(summary.mean - 10) <= summary.half ? 1 : 0;
  }
  EXPECT_NEAR(held / 2000.0, 0.9, 0.03);
}

TEST(Statistics, WhatHappensOftenIsNoOutlier) {
  // Every fourth flush takes four times as long: that is the device.
  std::vector<double> values(40, 1.0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i % 4 == 0 ? 4.0 : 1.0 + 0.001 * static_cast<double>(i % 3);
  }
  EXPECT_EQ(summarize(values).outliers, 0U);
  EXPECT_NEAR(summarize(values).mean, 1.75, 0.01);
}

TEST(Statistics, AHiccupDoesNotCount) {
  const std::vector<double> values = {1.00, 1.01, 0.99, 1.02, 0.98, 1.00, 50};
  const Summary summary = summarize(values);
  EXPECT_EQ(summary.outliers, 1U);
  EXPECT_NEAR(summary.mean, 1, 0.01);
  const std::vector<double> few = {1.0, 60, 1.1};
  EXPECT_EQ(summarize(few).outliers, 1U) << "a pass that the machine held up";
  EXPECT_NEAR(summarize(few).mean, 1.05, 1e-9);
  const std::vector<double> apart = {1.0, 3, 1.1};
  EXPECT_EQ(summarize(apart).outliers, 0U);
  const std::vector<double> two = {1.0, 60};
  EXPECT_EQ(summarize(two).outliers, 0U);
  const std::vector<double> one = {5};
  EXPECT_TRUE(std::isinf(summarize(one).error()));
  EXPECT_EQ(summarize({}).kept, 0U);
}

TEST(Statistics, ARequestCountsAlikeInWhateverBurstItWas) {
  // The first burst ended early, because its requests waited for something else.
  std::vector<Burst> bursts(3, Burst(32, 0.0001));
  bursts.insert(bursts.begin(), Burst{0.0125, 0.0125});
  const Summary summary = summarize_bursts(bursts);
  EXPECT_NEAR(summary.mean, 0.0001, 1e-9) << "two of ninety-eight are outliers";
  EXPECT_EQ(summary.outliers, 2U);
  EXPECT_EQ(summary.kept, 3U) << "bursts";
  // As many as that are the device, and weigh what they are.
  bursts = {Burst(10, 0.01), Burst(30, 0.001)};
  EXPECT_NEAR(summarize_bursts(bursts).mean, (10 * 0.01 + 30 * 0.001) / 40, 1e-9);
}

TEST(Statistics, TheIntervalComesFromHowBurstsDiffer) {
  // Requests of one burst are alike: 32 times the same is one witness, not 32.
  std::mt19937_64 random(5);
  std::normal_distribution<double> state(10, 1);
  std::normal_distribution<double> noise(0, 0.01);
  int held = 0;
  constexpr int rounds = 1000;
  for (int i = 0; i < rounds; ++i) {
    std::vector<Burst> bursts(6);
    for (Burst& burst : bursts) {
      const double mean = state(random);
      burst.resize(32);
      std::generate(burst.begin(), burst.end(), [&] { return mean + noise(random); });
    }
    const Summary summary = summarize_bursts(bursts);
    held += std::abs(summary.mean - 10) <= summary.half ? 1 : 0;
  }
  EXPECT_NEAR(held / static_cast<double>(rounds), 0.9, 0.04);
  const std::vector<Burst> one = {Burst(32, 1.0)};
  EXPECT_TRUE(std::isinf(summarize_bursts(one).error()));
  EXPECT_EQ(summarize_bursts(std::vector<Burst>{}).kept, 0U);
}

}  // namespace
}  // namespace sluice

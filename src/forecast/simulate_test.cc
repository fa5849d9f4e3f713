#include "forecast/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "forecast/chain.h"

namespace sluice {
namespace {

constexpr double year = 365 * 86400.0;
constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;
constexpr std::uint64_t tebibyte = std::uint64_t{1} << 40;

const DiskModel paper_disk{.mttf = 10 * year, .mttr = 86400, .uber = uber(1e-6, 512, 2)};

class Simulated : public testing::TestWithParam<const char*> {};

// The seed is fixed: an interval of 95 % widened by half misses the truth once in three hundred.
void expect_agrees(const Layout& layout, const DiskModel& disk, std::uint64_t bytes, std::uint64_t trials) {
  const double exact = mean_time(chain_of(layout, disk, bytes));
  const Simulation out = simulate(layout, disk, bytes, {.trials = trials, .seed = 7});
  ASSERT_TRUE(out.estimate) << print(layout);
  const auto [mean, low, high] = *out.estimate;
  EXPECT_LT(low, mean);
  EXPECT_LT(mean, high);
  EXPECT_LT(exact, mean + 1.5 * (high - mean)) << print(layout) << " " << bytes;
  EXPECT_GT(exact, mean - 1.5 * (mean - low)) << print(layout) << " " << bytes;
  EXPECT_LT(high / low, 1.2) << "too wide to tell anything: " << print(layout);
}

TEST_P(Simulated, AgreesWithTheChain) {
  const Layout layout = *parse_layout(GetParam());
  for (const std::uint64_t bytes : {gibibyte, tebibyte}) {
    expect_agrees(layout, paper_disk, bytes, 20000);
  }
  // Disks so bad that several are broken at a time, in every group.
  expect_agrees(layout, {.mttf = 10, .mttr = 3, .uber = 1e-11}, gibibyte, 20000);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Simulated,
                         testing::Values("single", "raid0:4", "raid1:2", "raid5:5", "raid6:6", "raid10:8",
                                         "replica:3", "mds:4+2", "raid0(raid5:5,raid6:6)",
                                         "raid1(raid0:2,raid0:2)", "raid1(raid1:2,raid1:2)",
                                         "raid5(raid1:2,raid0:2,single)", "raid0(raid1:2,single)",
                                         "raid10(raid0:2,raid0:2,raid1:2,single)",
                                         "raid6(raid5:4,raid5:4,raid0:2,single)"));

TEST(Simulate, FindsWhatHappensOnceInAges) {
  const Layout layout = *parse_layout("mds:10+4");
  const DiskModel disk{.mttf = 100 * year, .mttr = 3600, .uber = 1e-18};
  ASSERT_GT(mean_time(chain_of(layout, disk, gibibyte)) / year, 1e18);
  EXPECT_TRUE(simulate(layout, disk, gibibyte, {.trials = 1000}).biased);
  expect_agrees(layout, disk, gibibyte, 20000);
}

TEST(Simulate, LeavesCommonLossAlone) {
  const Simulation out = simulate(*parse_layout("raid5:5"), paper_disk, tebibyte, {.trials = 2000});
  EXPECT_FALSE(out.biased);
  EXPECT_GT(out.losses, 1400U);  // 78 % of rebuilds meet an error
  EXPECT_LT(out.losses, 1750U);
}

TEST(Simulate, GivesTheSameOnAnyNumberOfThreads) {
  const Layout layout = *parse_layout("raid0(raid5:5,raid1:3)");
  const auto with = [&](unsigned threads, std::uint64_t seed) {
    return *simulate(layout, paper_disk, gibibyte, {.trials = 10000, .seed = seed, .threads = threads})
                .estimate;
  };
  const auto one = with(1, 3);
  for (const unsigned threads : {2U, 3U, 8U, 64U}) {
    EXPECT_EQ(with(threads, 3).mttdl, one.mttdl) << threads;
    EXPECT_EQ(with(threads, 3).low, one.low) << threads;
    EXPECT_EQ(with(threads, 3).high, one.high) << threads;
  }
  EXPECT_NE(with(1, 4).mttdl, one.mttdl);
}

TEST(Simulate, TellsHowFarItIs) {
  std::vector<std::uint64_t> told;
  const auto caller = std::this_thread::get_id();
  const Simulation out = simulate(*parse_layout("raid1:2"), paper_disk, gibibyte,
                                  {.trials = 5000, .threads = 1, .progress = [&](std::uint64_t done) {
                                     EXPECT_EQ(std::this_thread::get_id(), caller);
                                     told.push_back(done);
                                   }});
  EXPECT_GT(told.size(), 100U);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_EQ(told.back(), 5000U);
  EXPECT_TRUE(out.estimate);
}

TEST(Simulate, SaysWhenItCannot) {
  // Three hundred disks are broken at any time: no cycle ends.
  const DiskModel disk{.mttf = 1000, .mttr = 10, .uber = 0};
  std::string text = "raid0(mds:20+12";
  for (int i = 1; i < 1000; ++i) {
    text += ",mds:20+12";
  }
  const Simulation out = simulate(*parse_layout(text + ")"), disk, gibibyte, {.trials = 1000});
  EXPECT_TRUE(out.endless);
  EXPECT_FALSE(out.estimate);
}

}  // namespace
}  // namespace sluice

#include "tune/looks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace sluice {
namespace {

using Chance = std::mt19937_64;

double normal(Chance& chance) {
  std::normal_distribution<double> one;
  return one(chance);
}

// The time of run number `at`, relative to what it would be without noise.
using Noise = std::function<double(Chance&, std::size_t at)>;

struct Told {
  int series = 0;
  int held = 0;      // whose interval has the gain
  int better = 0;    // that say it is surely better
  double pairs = 0;  // in the mean
};

// Whole comparisons as `sluice tune` makes them: pairs with the order swapped each time, looks, and an end.
Told simulate(double gain, const Noise& noise, double hour = 0) {
  constexpr int series = 4000;
  Chance chance(1);
  Told out{.series = series};
  for (int i = 0; i < series; ++i) {
    const Looks looks = looks_for(0, 1);
    const double now = gain * std::exp(hour == 0 ? 0 : hour * normal(chance));
    std::vector<double> before;
    std::vector<double> after;
    Gain told;
    do {
      const std::size_t at = 2 * before.size();
      const std::size_t later = before.size() % 2;
      before.push_back(now * noise(chance, at + later));
      after.push_back(noise(chance, at + 1 - later));
      told = looks.gain(before, after);
    } while (!looks.is_last(told));
    out.held += told.low <= gain && gain <= told.high ? 1 : 0;
    out.better += told.is_better() ? 1 : 0;
    out.pairs += static_cast<double>(told.pairs) / series;
  }
  return out;
}

double share(int some, const Told& all) {
  return static_cast<double>(some) / all.series;
}

TEST(Looks, HoldTheGainWhateverTheyStopAt) {
  for (const double gain : {0.8, 1.0, 1.03, 1.2, 4.0}) {
    for (const double width : {0.01, 0.05, 0.15, 0.4}) {
      const Told told =
          simulate(gain, [&](Chance& chance, std::size_t) { return std::exp(width * normal(chance)); });
      EXPECT_GE(share(told.held, told), 0.95) << gain << " with noise of " << width;
    }
  }
}

TEST(Looks, HoldItWhereTheMachineGetsSlower) {
  for (const double width : {0.02, 0.1}) {
    const Told told = simulate(1.3, [&](Chance& chance, std::size_t at) {
      return std::exp(width * normal(chance) + 0.02 * static_cast<double>(at));
    });
    EXPECT_GE(share(told.held, told), 0.95) << width;
  }
}

// The second of a pair finds what the first has left: dirty pages, a busy disk.
TEST(Looks, HoldItWhereOneRunSlowsTheNext) {
  const Told told = simulate(1.3, [](Chance& chance, std::size_t at) {
    return std::exp(0.03 * normal(chance) + (at % 2 == 0 ? 0.0 : 0.2));
  });
  EXPECT_GE(share(told.held, told), 0.95);
}

// Some runs take twice as long, of either kind.
TEST(Looks, HoldItWhereSomeRunsHang) {
  const Told told = simulate(1.3, [](Chance& chance, std::size_t) {
    std::uniform_real_distribution<double> some;
    return std::exp(0.03 * normal(chance)) * (some(chance) < 0.1 ? 2 : 1);
  });
  EXPECT_GE(share(told.held, told), 0.95);
}

// The machine is slow for a while, and neighbouring runs are alike.
TEST(Looks, HoldItWhereNeighboursAreAlike) {
  double now = 0;
  const Told told = simulate(1.1, [&](Chance& chance, std::size_t at) {
    now = at == 0 ? normal(chance) : 0.8 * now + 0.6 * normal(chance);
    return std::exp(0.1 * now);
  });
  EXPECT_GE(share(told.held, told), 0.95);
}

TEST(Looks, SeldomKeepWhatGainsNothing) {
  for (const double width : {0.02, 0.1, 0.3}) {
    const Told told =
        simulate(1.0, [&](Chance& chance, std::size_t) { return std::exp(width * normal(chance)); });
    EXPECT_LE(share(told.better, told), 0.025) << width;
  }
}

TEST(Looks, FindWhatIsThere) {
  const Told large =
      simulate(3.0, [](Chance& chance, std::size_t) { return std::exp(0.05 * normal(chance)); });
  EXPECT_EQ(large.better, large.series);
  EXPECT_LT(large.pairs, 8);
  const Told small =
      simulate(1.15, [](Chance& chance, std::size_t) { return std::exp(0.05 * normal(chance)); });
  EXPECT_GE(share(small.better, small), 0.95);
}

// Each hour has a gain of its own, a little off the true one.
TEST(Looks, HoldItWhereAnotherHourDiffers) {
  const Told told = simulate(
      1.5, [](Chance& chance, std::size_t) { return std::exp(0.02 * normal(chance)); }, 0.04);
  EXPECT_GE(share(told.held, told), 0.93);
}

// The interval of one look at a level of its own, and stopping when it suits, would be wrong too often.
TEST(Looks, AreStricterThanOneLook) {
  const Looks looks = looks_for(0, 1);
  EXPECT_DOUBLE_EQ(looks.miss * static_cast<double>(looks.at.size()), stated_miss);
  EXPECT_GT(student(5, looks.miss), student(5, stated_miss));
}

TEST(Looks, AreAsManyAsAskedFor) {
  const Looks looks = looks_for(9, 1e6);
  EXPECT_EQ(looks.least(), 9U);
  EXPECT_EQ(looks.most(), 9U);
  EXPECT_DOUBLE_EQ(looks.miss, stated_miss);
  EXPECT_FALSE(looks.is_last({.ratio = 2, .low = 1.99, .high = 2.01, .pairs = 8}));
  EXPECT_TRUE(looks.is_last({.ratio = 1, .low = 0.5, .high = 2, .pairs = 9}));
}

TEST(Looks, EndWithWhatIsSureOrNotWorthIt) {
  const Looks looks = looks_for(0, 1);
  EXPECT_EQ(looks.least(), 6U);
  EXPECT_EQ(looks.most(), 16U);
  EXPECT_TRUE(looks.is_last({.ratio = 2, .low = 1.9, .high = 2.1, .pairs = 6}));
  EXPECT_FALSE(looks.is_last({.ratio = 2, .low = 1.9, .high = 2.1, .pairs = 7}));  // no look
  EXPECT_FALSE(looks.is_last({.ratio = 2, .low = 1.1, .high = 3.5, .pairs = 6}));  // how much is not known
  EXPECT_FALSE(looks.is_last({.ratio = 1.06, .low = 0.97, .high = 1.16, .pairs = 12}));
  EXPECT_TRUE(looks.is_last({.ratio = 1, .low = 0.97, .high = 1.03, .pairs = 6}));  // nothing to gain
  EXPECT_TRUE(looks.is_last({.ratio = 1.05, .low = 0.99, .high = 1.1, .pairs = 16}));
}

TEST(Looks, AreFewerWhereRunsTakeLong) {
  EXPECT_EQ(looks_for(0, 120).most(), 8U);
  EXPECT_DOUBLE_EQ(looks_for(0, 120).miss, stated_miss / 2);
  EXPECT_EQ(looks_for(0, 7200).at, std::vector<std::size_t>{4});
}

}  // namespace
}  // namespace sluice

#include "tune/gain.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice {
namespace {

TEST(Gain, OnePairIsAsSureAsTheNoiseAllows) {
  const std::vector<double> before = {2.0};
  const std::vector<double> after = {1.0};
  const Gain quiet = gain_of(before, after, 0.02);
  EXPECT_DOUBLE_EQ(quiet.ratio, 2);
  EXPECT_TRUE(quiet.is_better());
  EXPECT_FALSE(gain_of(before, after, 0.5).is_better());
}

TEST(Gain, RunsThatDifferAsMuchAsTheWaysSayNothing) {
  const std::vector<double> before = {1.0, 2.0, 1.0, 2.0};
  const std::vector<double> after = {2.0, 1.0, 2.0, 1.0};
  const Gain gain = gain_of(before, after);
  EXPECT_NEAR(gain.ratio, 1, 1e-9);
  EXPECT_FALSE(gain.is_better());
  EXPECT_FALSE(gain.is_worse());
}

TEST(Gain, PairsThatAgreeAreSure) {
  const std::vector<double> before = {1.30, 1.31, 1.29};
  const std::vector<double> after = {1.00, 1.01, 1.00};
  EXPECT_TRUE(gain_of(before, after).is_better());
  EXPECT_TRUE(gain_of(after, before).is_worse());
}

// Two runs that happen to take the same time to the microsecond do not make a gain of 1 % sure.
TEST(Gain, IsNeverSurerThanAQuietMachine) {
  const std::vector<double> before = {1.01, 1.01};
  const std::vector<double> after = {1.0, 1.0};
  EXPECT_FALSE(gain_of(before, after).is_better());
}

TEST(Gain, OfNothingIsNone) {
  EXPECT_EQ(gain_of({}, {}).pairs, 0U);
  EXPECT_FALSE(gain_of({}, {}).is_better());
}

}  // namespace
}  // namespace sluice

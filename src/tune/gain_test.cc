#include "tune/gain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sluice {
namespace {

TEST(Gain, StudentIsAsInTheTables) {
  EXPECT_NEAR(student(1, 0.1), 6.314, 0.001);
  EXPECT_NEAR(student(2, 0.05), 4.303, 0.001);
  EXPECT_NEAR(student(5, 0.1), 2.015, 0.001);
  EXPECT_NEAR(student(5, 0.0125), 3.810, 0.001);
  EXPECT_NEAR(student(10, 0.05), 2.228, 0.001);
  EXPECT_NEAR(student(15, 0.01), 2.947, 0.001);
  EXPECT_NEAR(student(99, 0.05), 1.984, 0.001);
}

TEST(Gain, OnePairIsAsSureAsAQuietMachine) {
  const std::vector<double> before = {2.0};
  const std::vector<double> after = {1.0};
  const Gain gain = gain_of(before, after);
  EXPECT_DOUBLE_EQ(gain.ratio, 2);
  EXPECT_LT(gain.low, 1.92);
  EXPECT_GT(gain.high, 2.08);
}

// What a program took once and then never again, and the chance that it was that, make the interval wide.
TEST(Gain, IsAsWideAsItsPairsDiffer) {
  const std::vector<double> before = {1.57, 1.05, 1.60, 1.02};
  const std::vector<double> after = {1.0, 1.0, 1.0, 1.0};
  EXPECT_FALSE(gain_of(before, after, 0.05).is_better());
  const double mean = std::log(1.57 * 1.05 * 1.60 * 1.02) / 4;
  const double half = std::log(gain_of(before, after, 0.05).high) - mean;
  EXPECT_NEAR(half, 3.1824 * 0.2465 / 2, 0.001);  // t of three degrees, and what the four differ by
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

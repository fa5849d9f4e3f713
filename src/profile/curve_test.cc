#include "profile/curve.h"

#include <gmock/gmock.h>

#include <cmath>

#include "profile/statistics.h"

namespace sluice {
namespace {

constexpr std::uint64_t kilo = 1024;

// seconds = 100 us + size / 100 MiB/s
double disk(double size) {
  return 1e-4 + size / (100.0 * 1024 * 1024);
}

std::vector<Measured> measure(double (*model)(double), std::initializer_list<std::uint64_t> sizes) {
  std::vector<Measured> out;
  for (const std::uint64_t size : sizes) {
    const double seconds = model(static_cast<double>(size));
    out.push_back(
        {.size = size, .seconds = seconds, .half = 0.01 * seconds, .repetitions = 10, .outliers = 0});
  }
  return out;
}

TEST(Curve, OneLineThroughALine) {
  const Curve curve = fit(measure(disk, {4 * kilo, 64 * kilo, 256 * kilo, 1024 * kilo}), {});
  ASSERT_EQ(curve.lines.size(), 1U);
  for (const double size : {5000.0, 100'000.0, 900'000.0}) {
    const Estimate estimate = curve.at(size);
    EXPECT_NEAR(estimate.seconds / disk(size), 1, 1e-9);
    EXPECT_LT(estimate.low, estimate.seconds);
    EXPECT_GT(estimate.high, estimate.seconds);
    EXPECT_LT(estimate.high / estimate.low, 1.03);
  }
}

TEST(Curve, BreaksWhereOneLineDoesNotFit) {
  const auto kinked = [](double size) { return size <= 65536 ? 1e-4 : 1e-4 + (size - 65536) * 1e-8; };
  const Curve curve = fit(
      measure(kinked, {4 * kilo, 16 * kilo, 32 * kilo, 64 * kilo, 256 * kilo, 512 * kilo, 1024 * kilo}), {});
  EXPECT_EQ(curve.lines.size(), 2U);
  EXPECT_NEAR(curve.at(20000).seconds, 1e-4, 1e-7);
  EXPECT_NEAR(curve.at(600'000).seconds / kinked(600'000), 1, 1e-3);
}

TEST(Curve, IntervalsHaveLinesOfTheirOwn) {
  const std::vector<std::uint64_t> boundaries = {64 * kilo, 1024 * kilo};
  const Curve curve = fit(measure(disk, {4 * kilo, 64 * kilo, 1024 * kilo}), boundaries);
  ASSERT_EQ(curve.lines.size(), 2U);
  EXPECT_EQ(curve.lines[0].to, 64.0 * kilo);
  EXPECT_EQ(curve.lines[1].from, 64.0 * kilo);
}

TEST(Curve, AnOutlierDoesNotBendIt) {
  auto points =
      measure(disk, {4 * kilo, 32 * kilo, 64 * kilo, 128 * kilo, 256 * kilo, 384 * kilo, 512 * kilo});
  points[3].seconds *= 3;
  points[3].half = points[3].seconds;
  const Curve curve = fit(points, {}, 0.5);
  EXPECT_NEAR(curve.at(300'000).seconds / disk(300'000), 1, 0.05);
}

TEST(Curve, BeyondWhatWasMeasuredTheBoundGrows) {
  const Curve curve = fit(measure(disk, {4 * kilo, 1024 * kilo}), {});
  const Estimate inside = curve.at(512.0 * kilo);
  const Estimate outside = curve.at(16384.0 * kilo);
  EXPECT_GT(outside.high / outside.seconds, inside.high / inside.seconds);
  EXPECT_NEAR(outside.seconds / disk(16384.0 * kilo), 1, 1e-6);
}

TEST(Curve, NoiseNeverMakesLargeRequestsCheap) {
  // Single sizes, and lines that fall.
  const auto flat = [](double) { return 1e-4; };
  const auto falling = [](double size) { return 1e-4 - size * 5e-9; };
  const auto points = {measure(flat, {4 * kilo}), measure(falling, {kilo, 4 * kilo}),
                       measure(flat, {kilo, 2 * kilo, 4 * kilo})};
  for (const auto& each : points) {
    const Curve curve = fit(each, {});
    const Estimate large = curve.at(1024.0 * 1024.0 * kilo);
    EXPECT_GT(large.seconds, 1) << "as much a byte as the largest";
    EXPECT_LE(large.low, 1e-4) << "but it may be less";
    EXPECT_GT(large.low, 0);
  }
}

TEST(Curve, SmallerThanAnythingMeasuredCostsAsMuchAsTheSmallest) {
  const Curve curve = fit(measure(disk, {4 * kilo, 1024 * kilo}), {});
  EXPECT_EQ(curve.at(512).seconds, curve.at(4.0 * kilo).seconds);
}

TEST(Curve, LonePointsOfAnIntervalAreJoinedWithTheNext) {
  const std::vector<std::uint64_t> boundaries = {4 * kilo, 64 * kilo, 16384 * kilo};
  const Curve curve = fit(measure(disk, {512, 16384 * kilo}), boundaries);
  EXPECT_NEAR(curve.at(1024.0 * kilo).seconds / disk(1024.0 * kilo), 1, 1e-6);
}

TEST(Curve, PooledPointsAreAsIfMeasuredAtOnce) {
  const std::vector<double> first = {1.0, 1.2, 0.9, 1.1};
  const std::vector<double> second = {1.3, 1.0, 1.1, 0.8, 1.2, 1.0};
  std::vector<double> all = first;
  all.insert(all.end(), second.begin(), second.end());
  const auto measured = [](const std::vector<double>& values) {
    const Summary summary = summarize(values);
    return Measured{.size = 1,
                    .seconds = summary.mean,
                    .half = summary.half,
                    .repetitions = values.size(),
                    .outliers = 0};
  };
  const Measured both = pooled(measured(first), measured(second));
  EXPECT_NEAR(both.seconds, measured(all).seconds, 1e-12);
  EXPECT_NEAR(both.half, measured(all).half, 1e-12);
  EXPECT_EQ(both.repetitions, all.size());
}

TEST(Curve, SingleSamplesArePooledToo) {
  const Measured one{.size = 1, .seconds = 1, .half = 1, .repetitions = 1, .outliers = 0};
  const Measured other{.size = 1, .seconds = 1.2, .half = 1.2, .repetitions = 1, .outliers = 3};
  const Measured two = pooled(one, other);
  EXPECT_EQ(two.repetitions, 2U);
  EXPECT_EQ(two.outliers, 3U);
  const std::vector<double> both = {1, 1.2};
  EXPECT_NEAR(two.seconds, summarize(both).mean, 1e-12);
  EXPECT_NEAR(two.half, summarize(both).half, 1e-12);
  EXPECT_EQ(pooled(two, one).repetitions, 3U);
  EXPECT_EQ(pooled(one, two).repetitions, 3U);
  EXPECT_EQ(pooled(Measured{}, two), two);
}

TEST(Curve, TheNextPointIsWhereItBends) {
  const auto kinked = [](double size) { return size <= 262144 ? 1e-4 : 1e-4 + (size - 262144) * 1e-8; };
  const Curve curve = fit(measure(kinked, {4 * kilo, 16 * kilo, 64 * kilo, 1024 * kilo}), {});
  std::vector<std::uint64_t> candidates;
  for (std::uint64_t size = 4 * kilo; size <= 1024 * kilo; size += 4 * kilo) {
    candidates.push_back(size);
  }
  const auto wanted = most_wanted(curve, candidates);
  ASSERT_TRUE(wanted);
  EXPECT_GT(*wanted, 64 * kilo);
  EXPECT_LT(*wanted, 1024 * kilo);
  const std::vector<std::uint64_t> none = {4 * kilo, 16 * kilo, 64 * kilo, 1024 * kilo};
  EXPECT_FALSE(most_wanted(curve, none));
}

}  // namespace
}  // namespace sluice

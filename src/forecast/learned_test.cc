#include "forecast/learned.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sluice {
namespace {

constexpr std::int64_t now = 2'000'000'000;
constexpr double mega = 1e6;

// Whatever is asked, 1 MB/s, give or take 2.
Throughput one_megabyte(const Workload& /*workload*/) {
  return {.rate = mega, .low = mega / 2, .high = mega * 2};
}

// One megabyte that took so long, in a run of its own.
PlaceOutcome took(double seconds, std::int64_t run = 1, double age = 0) {
  PlaceOutcome out;
  out.run = run;
  out.when = now - static_cast<std::int64_t>(age);
  out.workload.operation = Operation::write;
  out.workload.mode = Mode::buffered;
  out.bytes = mega;
  out.seconds = seconds;
  out.modelled = 1;
  out.predicted = 1;
  return out;
}

Correction learned(const std::vector<PlaceOutcome>& outcomes) {
  return learn(outcomes, one_megabyte, now).of(took(1).workload);
}

std::vector<PlaceOutcome> runs(double seconds, int count, double age = 0) {
  std::vector<PlaceOutcome> out;
  for (int i = 0; i < count; ++i) {
    out.push_back(took(seconds, 1000 * static_cast<std::int64_t>(age) + i, age));
  }
  return out;
}

TEST(Learned, NothingIsLearnedFromNothing) {
  const Corrections none = learn({}, one_megabyte, now);
  EXPECT_FALSE(none.any());
  EXPECT_EQ(print(none), "");
  const Throughput same = correct(one_megabyte({}), none.of({}));
  EXPECT_EQ(same.rate, mega);
  EXPECT_EQ(same.low, mega / 2);
}

TEST(Learned, FewRunsCountLittleAndManyCountFully) {
  EXPECT_NEAR(learned(runs(4, 1)).factor, 2, 1e-9);  // half way, by ratio
  EXPECT_NEAR(learned(runs(4, 3)).factor, std::pow(4, 0.75), 1e-9);
  EXPECT_NEAR(learned(runs(4, 1000)).factor, 4, 0.01);
  EXPECT_NEAR(learned(runs(0.25, 1000)).factor, 0.25, 0.001);
  EXPECT_EQ(learned(runs(4, 3)).runs, 3U);
}

TEST(Learned, OldRunsCountLess) {
  EXPECT_NEAR(learned(runs(4, 1, half_life)).weight, 0.5, 1e-9);
  EXPECT_NEAR(learned(runs(4, 1, half_life)).factor, std::pow(4, 1.0 / 3), 1e-9);
  EXPECT_FALSE(learned(runs(4, 1, 10 * half_life)).any());
  std::vector<PlaceOutcome> changed = runs(8, 10, 4 * half_life);
  for (const PlaceOutcome& one : runs(0.5, 10)) {
    changed.push_back(one);
  }
  EXPECT_LT(learned(changed).factor, 0.75);
  // A clock that was put back.
  EXPECT_NEAR(learned(runs(4, 1, -1e6)).weight, 1, 1e-9);
}

TEST(Learned, ARunIsOneWitnessWhateverItDid) {
  std::vector<PlaceOutcome> one(50, took(4));
  EXPECT_NEAR(learned(one).factor, 2, 1e-9);
  EXPECT_EQ(learned(one).runs, 1U);
}

TEST(Learned, OperationsAndModesAreApart) {
  PlaceOutcome read = took(4, 2);
  read.workload.operation = Operation::read;
  read.workload.mode = Mode::direct;
  const std::vector<PlaceOutcome> both = {took(2), read};
  const Corrections found = learn(both, one_megabyte, now);
  EXPECT_NEAR(found.of(took(1).workload).factor, std::sqrt(2), 1e-9);
  EXPECT_NEAR(found.of(read.workload).factor, 2, 1e-9);
  Workload buffered = read.workload;
  buffered.mode = Mode::buffered;
  EXPECT_FALSE(found.of(buffered).any());
  EXPECT_EQ(print(found),
            "direct sequential read up to 1M x2 by 1 run, "
            "buffered sequential write up to 1M x1.41 by 1 run");
}

TEST(Learned, SmallFilesAndRandomOnesTellNothingOfStreams) {
  PlaceOutcome small = took(100, 2);
  small.workload.request = 150'000;
  small.workload.mode = Mode::synced;
  PlaceOutcome random = took(100, 3);
  random.workload.pattern = Pattern::random;
  PlaceOutcome large = took(100, 4);
  large.workload.request = std::uint64_t{256} << 20;
  const Corrections found = learn(std::vector{small, random, large}, one_megabyte, now);
  EXPECT_FALSE(found.of(took(1).workload).any());
  for (const PlaceOutcome& own : {small, random, large}) {
    EXPECT_NEAR(found.of(own.workload).factor, 10, 1e-6) << own.run;
  }
  Workload alike = small.workload;
  alike.request = 512 * 1024;
  EXPECT_TRUE(found.of(alike).any()) << "of the same class";
  alike.request = 16 * 1024;
  EXPECT_FALSE(found.of(alike).any());
}

// What was right when it was told, and wrong before it was corrected, teaches the same as ever: the
// correction does not feed on itself.
TEST(Learned, WhatWasToldDoesNotMatter) {
  PlaceOutcome told = took(4);
  told.predicted = 4;
  EXPECT_NEAR(learned({told}).factor, 2, 1e-9);
  // And what is forecast now does, not what was forecast then.
  const auto twice = [](const Workload&) { return Throughput{.rate = mega / 4, .low = 1, .high = 1e9}; };
  EXPECT_NEAR(learn(std::vector{told}, twice, now).of(took(1).workload).factor, 1, 1e-9);
}

TEST(Learned, BoundsFollowTheRuns) {
  const Throughput plain = one_megabyte({});
  // Runs that agree narrow them.
  const Throughput sure = correct(plain, learned(runs(4, 1000)));
  EXPECT_NEAR(sure.rate, mega / 4, mega / 100);
  EXPECT_GT(sure.low, plain.low / 4);
  EXPECT_LT(sure.high, plain.high / 4);
  EXPECT_LT(sure.low, sure.rate);  // and never to a point
  EXPECT_GT(sure.high, sure.rate);
  // Runs that do not agree widen them.
  std::vector<PlaceOutcome> wild = runs(0.05, 50);
  for (const PlaceOutcome& one : runs(20, 50, 1)) {
    wild.push_back(one);
  }
  const Throughput unsure = correct(plain, learned(wild));
  EXPECT_NEAR(unsure.rate, mega, mega / 10);
  EXPECT_LT(unsure.low, mega / 20);
  EXPECT_GT(unsure.high, mega * 20);
  // One run far off is within them.
  const Throughput surprised = correct(plain, learned({took(0.001)}));
  EXPECT_GT(surprised.high, mega * 1000);
  EXPECT_LT(surprised.low, mega * 40);
}

TEST(Learned, NonsenseIsLeftOut) {
  for (const double seconds : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(learned({took(seconds)}).any()) << seconds;
  }
  PlaceOutcome empty = took(1);
  empty.bytes = 0;
  EXPECT_FALSE(learned({empty}).any());
  EXPECT_LE(learned({took(1e30)}).factor, 1000.1);  // a million, half way
}

TEST(Learned, ErrorsAreThoseOfWhatWasTold) {
  std::vector<PlaceOutcome> all;
  for (int i = 1; i <= 10; ++i) {
    PlaceOutcome one = took(10, i);
    one.predicted = i == 10 ? 1 : 8;
    one.modelled = 1000;
    all.push_back(one);
  }
  const ForecastError error = error_of(all);
  EXPECT_EQ(error.runs, 10U);
  EXPECT_NEAR(error.median, 0.25, 1e-9);
  EXPECT_NEAR(error.median_uncorrected, 99, 1e-6);
  all[0].predicted = 100;  // too long counts as too short does
  EXPECT_NEAR(error_of(all).p90, 9, 1e-9);
  EXPECT_EQ(error_of({}).runs, 0U);
}

}  // namespace
}  // namespace sluice

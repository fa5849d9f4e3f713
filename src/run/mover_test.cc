#include "run/mover.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using std::chrono::seconds;

TEST(Delays, WhatFailsIsTriedLaterAndLater) {
  Delays delays;
  AreaMove move;
  move.generation = 7;
  Delays::Clock::time_point now;
  EXPECT_TRUE(delays.is_due(move, now));
  for (const int wait : {1, 2, 4, 8, 16, 32, 60, 60}) {
    delays.failed(move, 7, now);
    EXPECT_FALSE(delays.is_due(move, now + seconds(wait) - std::chrono::milliseconds(1)));
    EXPECT_TRUE(delays.is_due(move, now + seconds(wait)));
    now += seconds(wait);
  }
}

TEST(Delays, AnotherFileInTheSameRowDoesNotWait) {
  Delays delays;
  AreaMove move;
  move.generation = 7;
  const Delays::Clock::time_point now;
  delays.failed(move, 7, now);
  delays.failed(move, 7, now);
  move.generation = 8;
  EXPECT_TRUE(delays.is_due(move, now));
  delays.failed(move, 8, now);
  EXPECT_TRUE(delays.is_due(move, now + seconds(1)));
}

}  // namespace
}  // namespace sluice

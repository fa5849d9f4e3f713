#include "trace/pattern.h"

#include <gtest/gtest.h>

#include <random>

namespace sluice {
namespace {

constexpr std::uint64_t many = 1000;  // slots

PatternCounts follow(const std::vector<std::int64_t>& begins, std::int64_t bytes) {
  PatternCounts out;
  PatternFollower follower;
  for (const std::int64_t begin : begins) {
    follower.count(out, begin, bytes);
  }
  return out;
}

TEST(Pattern, OneAfterAnother) {
  std::vector<std::int64_t> begins;
  for (int i = 0; i < 100; ++i) {
    begins.push_back(i * 10);
  }
  const PatternJudgement out = judge(follow(begins, 10), many);
  EXPECT_EQ(out.pattern, AccessPattern::sequential);
  EXPECT_EQ(out.sequential, 1);
  EXPECT_EQ(out.looked_at, 100U);
}

TEST(Pattern, AgainFromTheBegin) {
  std::vector<std::int64_t> begins;
  for (int i = 0; i < 100; ++i) {
    begins.push_back(i % 10 * 10);
  }
  EXPECT_EQ(judge(follow(begins, 10), many).sequential, 1);
}

TEST(Pattern, SeveralStreamsByTurns) {
  std::vector<std::int64_t> begins;
  for (int i = 0; i < 100; ++i) {
    for (const int stream : {0, 1, 2}) {
      begins.push_back(stream * 100000 + i * 10);
    }
  }
  const PatternCounts counts = follow(begins, 10);
  EXPECT_EQ(judge(counts, many).pattern, AccessPattern::sequential);
  // Where there is room for a few requests only, that may be chance.
  EXPECT_NE(judge(counts, 10).pattern, AccessPattern::sequential);
}

TEST(Pattern, RecordsOfSeveralRequestsAtOneDistance) {
  std::vector<std::int64_t> begins;
  for (int i = 0; i < 50; ++i) {
    begins.insert(begins.end(), {i * 1000, i * 1000 + 10, i * 1000 + 20});
  }
  const PatternJudgement out = judge(follow(begins, 10), many);
  EXPECT_EQ(out.pattern, AccessPattern::strided);
  EXPECT_EQ(out.distance, 1000);
}

TEST(Pattern, Backwards) {
  std::vector<std::int64_t> begins;
  for (int i = 100; i > 0; --i) {
    begins.push_back(i * 10);
  }
  const PatternJudgement out = judge(follow(begins, 10), many);
  EXPECT_EQ(out.pattern, AccessPattern::backward);
  EXPECT_EQ(out.distance, -10);
}

TEST(Pattern, HereAndThere) {
  std::mt19937 random(1);
  std::vector<std::int64_t> begins;
  for (int i = 0; i < 1000; ++i) {
    begins.push_back(static_cast<std::int64_t>(random() % 1000) * 10);
  }
  EXPECT_EQ(judge(follow(begins, 10), many).pattern, AccessPattern::random);
}

TEST(Pattern, OneJumpInEachOfManyFilesIsNoStride) {
  PatternCounts all;
  for (int file = 0; file < 20; ++file) {
    all.add(follow({0, 10, 20, 30, 500, 40, 50, 60, 70, 80, 90, 100}, 10));
  }
  EXPECT_EQ(judge(all, many).pattern, AccessPattern::sequential);
}

TEST(Pattern, NothingSaysNothing) {
  EXPECT_EQ(judge({}, many).pattern, AccessPattern::none);
  EXPECT_EQ(judge(follow({700}, 10), many).pattern, AccessPattern::none);
}

TEST(Frequent, TheMostFrequentStays) {
  Frequent<4> all;
  for (int i = 0; i < 1000; ++i) {
    all.add(i % 2 == 0 ? 7 : i);
  }
  EXPECT_EQ(all.top().value, 7);
  EXPECT_GE(all.top().count, 300U);
  EXPECT_FALSE(all.exact());
}

}  // namespace
}  // namespace sluice

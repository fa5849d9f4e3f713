#include "profile/sawtooth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace sluice {
namespace {

constexpr std::uint64_t kilo = 1024;

// 2 ms a write, 100 MB/s, and a read of 1 ms for each block that is covered in part; where that is the page,
// of 2 ms for the last one alone.
std::vector<Tooth> writes_on(std::uint64_t block, std::size_t count, double noise) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(1, noise);
  std::vector<Tooth> out;
  while (out.size() < count) {
    const std::uint64_t size = kilo * (1 + random() % 64);
    std::uint64_t offset = random() % 1000 * size;
    for (int i = 0; i < 3; ++i, offset += size) {
      double seconds = 0.002 + static_cast<double>(size) / 1e8;
      const bool same = block != 0 && offset / block == (offset + size - 1) / block;
      const bool begins = block != 0 && offset % block != 0;
      const bool ends = block != 0 && (offset + size) % block != 0;
      seconds += block == memory_page ? (ends ? 0.002 : 0)
                                      : 0.001 * ((begins ? 1 : 0) + (ends && !(same && begins) ? 1 : 0));
      out.push_back({.offset = offset, .size = size, .seconds = seconds * normal(random)});
    }
  }
  return out;
}

class SawtoothTest : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SawtoothTest, FindsTheBlockInNoise) {
  const std::uint64_t block = GetParam() * kilo;
  auto writes = writes_on(block, 600, 0.05);
  for (std::size_t i = 0; i < writes.size(); i += 50) {
    writes[i].seconds *= 20;  // hiccups
  }
  const auto found = find_sawtooth(writes, kilo, 128 * kilo, std::min(block, 4 * kilo));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->block, block);
  EXPECT_NEAR(found->base, 0.002, 0.0003);
  EXPECT_NEAR(found->tooth, block == memory_page ? 0 : 0.001, 0.0003);
  EXPECT_NEAR(found->page_tooth, block == memory_page ? 0.002 : 0, 0.0003);
  // A multiple of the block costs no more; any other size does.
  EXPECT_NEAR(found->extra(std::lcm(2 * block, memory_page)), 0, 1e-9);
  EXPECT_GT(found->extra(2 * block + kilo), 0.0008);
}

INSTANTIATE_TEST_SUITE_P(Blocks, SawtoothTest, testing::Values(2, 4, 8, 16, 22, 64));

TEST(Sawtooth, FindsNoneWhereThereIsNone) {
  EXPECT_FALSE(find_sawtooth(writes_on(0, 600, 0.05), kilo, 128 * kilo, 4 * kilo));
  EXPECT_FALSE(find_sawtooth(writes_on(4 * kilo, 6, 0), kilo, 128 * kilo, 4 * kilo)) << "too few to tell";
  EXPECT_FALSE(find_sawtooth({}, kilo, 128 * kilo, 0));
}

TEST(Sawtooth, WhereTwoBlocksExplainTheSameTheLikelyOneIsMeant) {
  // In noise of 2 %, the last ones fit 8 KiB a little better than 4 KiB.
  std::vector<Tooth> writes;
  for (int i = 0; i < 40; ++i) {
    const double noise = i % 2 == 0 ? 1.02 : 0.98;
    writes.push_back({.offset = 0, .size = 4 * kilo, .seconds = 0.001 * noise});
    writes.push_back({.offset = kilo, .size = 4 * kilo, .seconds = 0.002 * noise});
  }
  for (int i = 0; i < 4; ++i) {
    writes.push_back({.offset = 4 * kilo, .size = 4 * kilo, .seconds = 0.00102});
  }
  const auto found = find_sawtooth(writes, kilo, 128 * kilo, 4 * kilo);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->block, 4 * kilo);
}

}  // namespace
}  // namespace sluice

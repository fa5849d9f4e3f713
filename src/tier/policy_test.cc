#include "tier/policy.h"

#include <gtest/gtest.h>

#include <array>

namespace sluice::tier {
namespace {

class PolicyTest : public testing::Test {
 protected:
  PolicyTest() : entries(30), heat(30) { placement.fill(no_tier); }

  void put(std::uint64_t chunk, std::uint8_t tier, float score, std::uint32_t last) {
    entries[chunk].set_place({.tier = tier, .slot = chunk});
    entries[chunk].last = last;
    heat[chunk].score = score;
  }
  std::vector<Proposal> propose(const char* policy) {
    return (*find_policy(policy))
        ->propose({.entries = entries, .heat = heat, .tiers = tiers, .placement = placement}, settings);
  }

  std::vector<Entry> entries;
  std::vector<Heat> heat;
  std::array<PolicyTier, 3> tiers = {{{true, 4, 0}, {true, 8, 4}, {true, 40, 30}}};
  std::array<std::uint8_t, 256> placement{};
  PolicySettings settings{.top = 2, .threshold = 5, .keep_free = 0};
};

TEST_F(PolicyTest, HeatPromotesTheHottestAndDemotesTheOldest) {
  for (std::uint64_t chunk = 0; chunk < 4; ++chunk) {
    put(chunk, 0, 1, static_cast<std::uint32_t>(100 - chunk));
  }
  put(10, 1, 50, 90);
  put(11, 2, 60, 90);
  put(12, 2, 40, 90);
  put(13, 2, 4, 99);
  const auto found = propose("heat");
  ASSERT_EQ(found.size(), 4U);
  // The two oldest of the fast tier first, then the two hottest.
  EXPECT_EQ(found[0].operation.chunk, 3U);
  EXPECT_EQ(found[1].operation.chunk, 2U);
  EXPECT_EQ(found[0].operation.reason, Reason::demotion);
  EXPECT_EQ(found[0].operation.to, 1);
  EXPECT_EQ(found[2].operation.chunk, 11U);
  EXPECT_EQ(found[3].operation.chunk, 10U);
  EXPECT_EQ(found[3].operation.to, 0);
}

TEST_F(PolicyTest, HeatLeavesAHotChunkWhereItIs) {
  put(0, 0, 50, 1);
  put(1, 0, 1, 2);
  put(2, 0, 1, 3);
  put(3, 0, 1, 4);
  put(10, 2, 60, 9);
  const auto found = propose("heat");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].operation.chunk, 1U);  // not 0, which is older and hot
}

TEST_F(PolicyTest, PinnedChunksStay) {
  put(10, 2, 60, 9);
  entries[10].set_hints({.pinned = true});
  EXPECT_TRUE(propose("heat").empty());
}

TEST_F(PolicyTest, ADemotionIntoAFullTierMakesRoomThereToo) {
  tiers[1].free = 0;
  for (std::uint64_t chunk = 0; chunk < 4; ++chunk) {
    put(chunk, 0, 1, 10);
  }
  for (std::uint64_t chunk = 4; chunk < 12; ++chunk) {
    put(chunk, 1, 1, static_cast<std::uint32_t>(chunk));
  }
  put(20, 2, 60, 9);
  const auto found = propose("heat");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[1].operation.chunk, 4U);
  EXPECT_EQ(found[1].operation.to, 2);
}

TEST_F(PolicyTest, HintsMoveSmallFilesFirstAndOnlyWhereThereIsRoom) {
  tiers[0].free = 1;
  placement[Entry{}.label] = no_tier;
  Entry small;
  small.set_hints({.kind = 2, .bucket = 1});
  Entry large;
  large.set_hints({.kind = 2, .bucket = 5});
  placement[small.label] = 0;
  placement[large.label] = 0;
  put(1, 2, 1, 1);
  put(2, 2, 1, 1);
  entries[1].label = large.label;
  entries[2].label = small.label;
  const auto found = propose("hints");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].operation.chunk, 2U);
  EXPECT_EQ(found[0].operation.reason, Reason::hint);
}

TEST_F(PolicyTest, NothingMovesByItself) {
  put(10, 2, 60, 9);
  EXPECT_TRUE(propose("none").empty());
  EXPECT_FALSE(find_policy("hot"));
}

}  // namespace
}  // namespace sluice::tier

#include "intent/merge.h"

#include <gtest/gtest.h>

#include "intent/parse.h"

namespace sluice {
namespace {

Statement say(Strength strength, std::string_view words, std::size_t literals = 0) {
  return {.intent = *parse_intent(words),
          .strength = strength,
          .origin = std::string(print(strength)) + " " + std::string(words),
          .literals = literals};
}

TEST(Merge, TakesTheStrongerWordByWord) {
  const Merged merged =
      merge({say(Strength::kernel, "sequential read reuse(often)"), say(Strength::api, "random"),
             say(Strength::rule, "sequential size-per-IO(4K) persist"),
             say(Strength::command_line, "size-per-IO(1M)")});
  EXPECT_EQ(print(merged.intent), "persist random read size-per-IO(1M) reuse(often)");
  EXPECT_EQ(merged.origins[static_cast<std::size_t>(Slot::pattern)], "API random");
  EXPECT_EQ(merged.dropped.size(), 3U);
}

TEST(Merge, OrdersAllStrengths) {
  std::vector<Statement> statements;
  const std::vector<Strength> rising = {Strength::kernel,    Strength::learned,      Strength::rule,
                                        Strength::attribute, Strength::command_line, Strength::pragma,
                                        Strength::api};
  std::uint64_t size = 1;
  for (const Strength strength : rising) {
    statements.insert(statements.begin(), say(strength, "totalsize(" + std::to_string(size) + "K)"));
    EXPECT_EQ(print(merge(statements).intent), "totalsize(" + std::to_string(size) + "K)");
    ++size;
  }
}

TEST(Merge, AmongRulesMoreLiteralCharactersThenTheLaterLine) {
  EXPECT_EQ(print(merge({say(Strength::rule, "random", 10), say(Strength::rule, "sequential", 5)}).intent),
            "random");
  EXPECT_EQ(print(merge({say(Strength::rule, "random", 5), say(Strength::rule, "sequential", 5)}).intent),
            "sequential");
}

TEST(Merge, DropsWeakerWordsThatContradictStrongerOnes) {
  const Merged merged = merge(
      {say(Strength::rule, "archive shape(1,2,3) persist"), say(Strength::command_line, "temp procs(1,2)")});
  EXPECT_EQ(print(merged.intent), "temp procs(1,2)");
  ASSERT_EQ(merged.dropped.size(), 3U);
  for (const auto& dropped : merged.dropped) {
    EXPECT_NE(dropped.because.find("command line temp procs(1,2) says "), std::string::npos)
        << dropped.because;
  }
}

TEST(Merge, OfNothingIsNothing) {
  EXPECT_TRUE(merge({}).intent.empty());
  const Merged same = merge({say(Strength::rule, "random"), say(Strength::api, "random")});
  EXPECT_TRUE(same.dropped.empty());  // agreeing is no contradiction
}

}  // namespace
}  // namespace sluice

#include "fronts/compiler/words.h"

#include <gmock/gmock.h>

namespace sluice {
namespace {

PragmaWords words() {
  PragmaWords out;  // "né size(4K)", on two lines
  out.add("né", 100, true);
  out.add("size", 200, true);
  out.add("(", 204, false);
  out.add("4K", 205, false);
  out.add(")", 207, false);
  return out;
}

TEST(PragmaWords, KeepBlanksAndPlaces) {
  const PragmaWords out = words();
  EXPECT_EQ(out.text(), "né size(4K)");
  EXPECT_EQ(out.at(1).place, 100U);
  EXPECT_EQ(out.at(4).place, 200U);  // in characters
  EXPECT_EQ(out.at(6).place, 200U);
  EXPECT_EQ(out.at(6).offset, 2U);
  EXPECT_EQ(out.at(9).place, 205U);
  EXPECT_EQ(out.at(99).place, 207U);
  EXPECT_TRUE(PragmaWords().empty());
}

TEST(Complaint, HasNoColumnsAndOneSuggestion) {
  const auto wrong = parse_intent("persist sequentail");
  ASSERT_FALSE(wrong);
  const Complaint text = complaint(wrong.error());
  EXPECT_EQ(text.message, "unknown word 'sequentail'; did you mean 'sequential'?");
  EXPECT_EQ(text.instead, "sequential");
  const auto number = parse_intent("totalsize(4Q)");
  ASSERT_FALSE(number);
  EXPECT_THAT(complaint(number.error()).message, testing::StartsWith("'totalsize': '4Q' is not a size; "));
  EXPECT_EQ(complaint(number.error()).instead, "");
  EXPECT_EQ(complaint({.message = "at column x at column 12 (column 3)"}).message, "at column x");
}

}  // namespace
}  // namespace sluice

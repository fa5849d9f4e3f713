#include "places/layout.h"

#include <gtest/gtest.h>

#include <random>

namespace sluice {
namespace {

Layout flat(Scheme scheme, unsigned disks, unsigned parity = 0) {
  return {.scheme = scheme, .disks = disks, .parity = parity, .members = {}};
}

TEST(Layout, ParsesWhatTheHeaderLists) {
  EXPECT_EQ(*parse_layout("single"), Layout{});
  EXPECT_EQ(*parse_layout("raid0:3"), flat(Scheme::raid0, 3));
  EXPECT_EQ(*parse_layout("RAID6:8"), flat(Scheme::raid6, 8));
  EXPECT_EQ(*parse_layout("replica:3"), flat(Scheme::replica, 3));
  EXPECT_EQ(*parse_layout("mds:4+2"), flat(Scheme::mds, 6, 2));
  const Layout nested = *parse_layout("raid0(raid1:2, raid1:2)");
  EXPECT_EQ(nested.disks, 2U);
  EXPECT_EQ(nested.members, std::vector<Layout>(2, flat(Scheme::raid1, 2)));
  EXPECT_EQ(parse_layout("mds:2+1(raid1:2,single,single)")->members.size(), 3U);
}

TEST(Layout, PlainMembersAreNoMembers) {
  EXPECT_EQ(*parse_layout("raid1(single,single)"), flat(Scheme::raid1, 2));
}

TEST(Layout, CountsWhatMayFail) {
  EXPECT_EQ(parse_layout("single")->tolerated(), 0U);
  EXPECT_EQ(parse_layout("raid0:4")->tolerated(), 0U);
  EXPECT_EQ(parse_layout("raid1:3")->tolerated(), 2U);
  EXPECT_EQ(parse_layout("raid5:4")->tolerated(), 1U);
  EXPECT_EQ(parse_layout("raid6:4")->tolerated(), 2U);
  EXPECT_EQ(parse_layout("raid10:4")->tolerated(), 1U);
  EXPECT_EQ(parse_layout("replica:1")->tolerated(), 0U);
  EXPECT_EQ(parse_layout("mds:8+3")->tolerated(), 3U);
  EXPECT_FALSE(parse_layout("raid0:2")->redundant());
}

TEST(Layout, RefusesWhatCannotBe) {
  for (const char* text : {"",
                           " ",
                           "raid5:2",
                           "raid6:3",
                           "raid10:3",
                           "raid10:2",
                           "raid1:1",
                           "raid0:0",
                           "mds:0+1",
                           "mds:3+0",
                           "mds:3",
                           "mds",
                           "raid0",
                           "raid7:4",
                           "single:1",
                           "single(raid1:2)",
                           "raid0:70000",
                           "raid0:99999999999999999999",
                           "raid1:2)",
                           "raid1:2 x",
                           "raid0(raid1:2",
                           "raid0(raid1:2,)",
                           "raid0()",
                           "raid1:3(single,raid1:2)",
                           "raid0:-1",
                           "raid0:+2",
                           "raid0:65536(",
                           "raid0(raid0:40000,raid0:40000)",
                           "\xff",
                           "raid1:2\n"}) {
    const auto result = parse_layout(text);
    ASSERT_FALSE(result) << text;
    EXPECT_TRUE(result.error().usage) << text;
    EXPECT_NE(result.error().what.find("layout"), std::string::npos) << text;
  }
}

TEST(Layout, NamesColumnAndNearestWord) {
  const auto wrong = parse_layout("raid0(raid1:2,riad5:3)");
  EXPECT_NE(wrong.error().what.find("column 15"), std::string::npos) << wrong.error().text();
  EXPECT_EQ(wrong.error().advice, "did you mean 'raid5'?");
}

TEST(Layout, NestsEightDeepAndNoDeeper) {
  std::string text = "raid1:2";
  for (int depth = 2; depth <= 8; ++depth) {
    text = "raid0(" + text + ",single)";
    EXPECT_TRUE(parse_layout(text)) << depth;
  }
  EXPECT_FALSE(parse_layout("raid0(" + text + ")"));
  EXPECT_FALSE(parse_layout(std::string(100000, '(')));
  std::string deep;
  for (int i = 0; i < 100000; ++i) {
    deep += "raid0(";
  }
  EXPECT_FALSE(parse_layout(deep));
}

Layout any_layout(std::mt19937& random, unsigned depth) {
  const auto pick = [&](unsigned low, unsigned high) {
    return std::uniform_int_distribution<unsigned>(low, high)(random);
  };
  Layout out;
  out.scheme = static_cast<Scheme>(pick(0, 8));
  switch (out.scheme) {
    case Scheme::single:
      return out;
    case Scheme::raid10:
      out.disks = 2 * pick(2, 4);
      break;
    case Scheme::mds:
      out.parity = pick(1, 3);
      out.disks = out.parity + pick(1, 5);
      break;
    default:
      out.disks = pick(4, 8);
  }
  if (depth > 1 && pick(0, 2) == 0) {
    bool plain = true;
    for (unsigned i = 0; i < out.disks; ++i) {
      out.members.push_back(any_layout(random, depth - 1));
      plain = plain && out.members.back() == Layout{};
    }
    if (plain) {
      out.members.clear();
    }
  }
  return out;
}

TEST(Layout, PrintThenParseGivesTheSame) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    const Layout layout = any_layout(random, 3);
    const auto again = parse_layout(print(layout));
    ASSERT_TRUE(again) << print(layout) << ": " << again.error().text();
    ASSERT_EQ(*again, layout) << print(layout);
  }
}

}  // namespace
}  // namespace sluice

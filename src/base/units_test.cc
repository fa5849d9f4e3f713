#include "base/units.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace sluice {
namespace {

TEST(Sizes, AreReadInPowersOf1024) {
  const std::vector<std::pair<std::string, std::uint64_t>> cases = {
      {"0", 0},
      {"512", 512},
      {"512B", 512},
      {"4K", 4096},
      {"4kb", 4096},
      {"4KiB", 4096},
      {"16MB", 16 << 20},
      {"1.5k", 1536},
      {"1.50K", 1536},
      {"6G", 6ULL << 30},
      {"2TiB", 2ULL << 40},
      {"0.0009765625K", 1},
      {"9223372036854775807", std::numeric_limits<std::int64_t>::max()}};
  for (const auto& [text, bytes] : cases) {
    const auto value = parse_size(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(*value, bytes) << text;
  }
}

TEST(Sizes, RefuseWhatIsNoSize) {
  for (const char* text : {"",
                           "x",
                           "-1",
                           "+1",
                           "1.",
                           ".5",
                           "1X",
                           "1KK",
                           "1KBB",
                           "1BiB",
                           "1BB",
                           "1 K",
                           "1e3",
                           "0x10",
                           "1.5B",
                           "0.1K",
                           "9223372036854775808",
                           "9999999999T",
                           "1iB",
                           "99999999999999999999999999"}) {
    const auto value = parse_size(text);
    ASSERT_FALSE(value) << text;
    EXPECT_TRUE(value.error().usage);
  }
}

TEST(Sizes, SurvivePrintingAndParsing) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bytes = (random() >> 1 >> (random() % 63)) << (i % 3 == 0 ? 10 : 0) >> 1;
    const auto back = parse_size(print_size(bytes));
    ASSERT_TRUE(back) << print_size(bytes);
    ASSERT_EQ(*back, bytes);
  }
}

TEST(Durations, AreReadInTheirUnits) {
  const std::vector<std::pair<std::string, Duration>> cases = {{"1ns", {0, 1}},
                                                               {"1.5us", {0, 1500}},
                                                               {"250ms", {0, 250'000'000}},
                                                               {"90s", {90, 0}},
                                                               {"1.5m", {90, 0}},
                                                               {"2h", {7200, 0}},
                                                               {"1d", {86400, 0}},
                                                               {"20y", {630720000, 0}},
                                                               {"0.000000001s", {0, 1}},
                                                               {"100000y", {3153600000000ULL, 0}}};
  for (const auto& [text, duration] : cases) {
    const auto value = parse_duration(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(*value, duration) << text;
  }
}

TEST(Durations, RefuseWhatIsNoDuration) {
  for (const char* text :
       {"", "5", "s", "-1s", "1S ", "1 s", "0.5ns", "1w", "1e3s", "99999999999999999999y"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
  EXPECT_NE(parse_duration("5").error().advice.find("unit"), std::string::npos);
}

TEST(Durations, SurvivePrintingAndParsing) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20000; ++i) {
    const Duration value(random() >> 1 >> (random() % 63),
                         i % 2 == 0 ? 0 : static_cast<std::uint32_t>(random() % 1'000'000'000));
    const auto back = parse_duration(print(value));
    ASSERT_TRUE(back) << print(value);
    ASSERT_EQ(*back, value) << print(value);
  }
}

TEST(Durations, ComeFromSecondsWithoutOverflow) {
  EXPECT_EQ(Duration::from_seconds(1.5), Duration(1, 500'000'000));
  EXPECT_EQ(Duration::from_seconds(0.9999999999), Duration(1, 0));
  EXPECT_EQ(Duration::from_seconds(-1), Duration());
  EXPECT_EQ(Duration::from_seconds(std::nan("")), Duration());
  EXPECT_GT(Duration::from_seconds(1e300).whole_seconds(), 1ULL << 62);
  EXPECT_EQ(Duration(1ULL << 62, 0).in_milliseconds(), std::numeric_limits<int>::max());
}

TEST(Numbers, AreReadWholly) {
  EXPECT_DOUBLE_EQ(*parse_number("1e-6"), 1e-6);
  for (const char* text : {"", "nan", "inf", "1x", " 1", "1e999"}) {
    EXPECT_FALSE(parse_number(text)) << text;
  }
  EXPECT_EQ(*parse_count("17"), 17U);
  for (const char* text : {"", "-1", "1.0", "18446744073709551616", "9223372036854775808"}) {
    EXPECT_FALSE(parse_count(text)) << text;
  }
}

TEST(Human, RoundsToThreeDigits) {
  EXPECT_EQ(human_size(0), "0 B");
  EXPECT_EQ(human_size(999), "999 B");
  EXPECT_EQ(human_size(1000), "0.98 KiB");
  EXPECT_EQ(human_size(1536), "1.50 KiB");
  EXPECT_EQ(human_size(std::uint64_t{105} << 20), "105 MiB");
  EXPECT_EQ(human_size(std::numeric_limits<std::uint64_t>::max()), "16.0 EiB");
  EXPECT_EQ(human_rate(2.5e9), "2.33 GiB/s");
  EXPECT_EQ(human_duration(0.0001), "100 us");
  EXPECT_EQ(human_duration(90), "1.50 min");
  EXPECT_EQ(human_duration(13.0 * 365 * 86400), "13.0 y");
  EXPECT_EQ(human_duration(std::numeric_limits<double>::infinity()), "never");
}

}  // namespace
}  // namespace sluice

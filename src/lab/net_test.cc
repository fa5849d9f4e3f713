#include "lab/net.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "lab/net_rate.h"

namespace sluice::lab {
namespace {

TEST(NetRate, Reads) {
  EXPECT_EQ(*parse_bit_rate("200mbit"), 200'000'000U);
  EXPECT_EQ(*parse_bit_rate("1Gbit"), 1'000'000'000U);
  EXPECT_EQ(*parse_bit_rate("1.5gbit"), 1'500'000'000U);
  EXPECT_EQ(*parse_bit_rate("500kbit"), 500'000U);
  EXPECT_EQ(*parse_bit_rate("64000"), 64'000U);
  EXPECT_EQ(*parse_bit_rate("64000bit"), 64'000U);
}

TEST(NetRate, SaysWhatIsWrong) {
  for (const char* text : {"", "0", "0mbit", "-1mbit", "mbit", "200mbps", "200MB", "fast", "1tbit", "101gbit",
                           "999bit", "nan", "inf", "1e300gbit"}) {
    const auto rate = parse_bit_rate(text);
    ASSERT_FALSE(rate) << text;
    EXPECT_TRUE(rate.error().usage) << text;
    EXPECT_FALSE(rate.error().advice.empty()) << text;
  }
}

TEST(NetRate, PrintsWhatReadsBack) {
  for (const std::uint64_t rate : {1000U, 1001U, 64'000U, 1'500'000U, 1'000'000'000U}) {
    EXPECT_EQ(*parse_bit_rate(print_bit_rate(rate)), rate);
  }
  EXPECT_EQ(print_bit_rate(200'000'000), "200mbit");
  EXPECT_EQ(print_bit_rate(1'500'000'000), "1500mbit");
}

TEST(NetRate, TheBucketTakesAFrameAndTheQueueARoundTrip) {
  const RateShape slow = shape_of(1000, Duration(0, 0));
  EXPECT_GE(slow.burst, 1600U);
  EXPECT_GE(slow.queue, slow.burst + 20 * 1500);
  const RateShape far = shape_of(200'000'000, Duration(0, 200'000'000));
  EXPECT_EQ(far.burst, 50'000U);
  EXPECT_EQ(far.queue, 5'050'000U);
}

TEST(Net, WrongOptionsAreFoundBeforeAnythingIsMade) {
  const std::vector<std::vector<std::string>> wrong = {
      {},          {"a"},     {"a", "a"},   {"a", "../b"},
      {"a", "-b"}, {"a", ""}, {"a", "b c"}, {"a", std::string(33, 'x')}};
  for (const auto& hosts : wrong) {
    const auto made = make_net("/nonexistent/lab", {.name = "net", .hosts = hosts, .rtt = {}, .rate = {}});
    ASSERT_FALSE(made);
    EXPECT_TRUE(made.error().usage) << made.error().text();
  }
  std::vector<std::string> many;
  for (int i = 0; i < 201; ++i) {
    many.push_back("h" + std::to_string(i));
  }
  for (const NetOptions& options :
       {NetOptions{.name = "net", .hosts = many, .rtt = {}, .rate = {}},
        NetOptions{.name = "a/b", .hosts = {"a", "b"}, .rtt = {}, .rate = {}},
        NetOptions{.name = "net", .hosts = {"a", "b"}, .rtt = Duration(10, 1), .rate = {}},
        NetOptions{.name = "net", .hosts = {"a", "b"}, .rtt = {}, .rate = 0}}) {
    const auto made = make_net("/nonexistent/lab", options);
    ASSERT_FALSE(made);
    EXPECT_TRUE(made.error().usage) << made.error().text();
  }
}

}  // namespace
}  // namespace sluice::lab

#include "base/options.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

namespace sluice {
namespace {

constexpr Option verbose = {.name = "verbose", .letter = 'v', .help = "say more"};
constexpr Option level = {.name = "log-level",
                          .type = OptionType::choice,
                          .range = "low|high",
                          .fallback = "low",
                          .help = "how much",
                          .setting = true};
constexpr Option jobs = {.name = "jobs",
                         .letter = 'j',
                         .type = OptionType::count,
                         .argument = "N",
                         .range = "1..64",
                         .fallback = "2",
                         .help = "how many",
                         .setting = true};
constexpr Option wait = {
    .name = "wait", .type = OptionType::duration, .argument = "TIME", .range = "1ms..", .help = "how long"};
constexpr Option file = {.name = "file",
                         .type = OptionType::path,
                         .argument = "FILE",
                         .help = "which",
                         .setting = true,
                         .repeatable = true};
constexpr std::array rows = {&verbose, &level, &jobs, &wait, &file};

Result<Options> parse(std::vector<std::string> arguments, std::string_view toml = "") {
  return Options::parse(rows, arguments, *Config::parse(toml, "/etc/sluice.toml"));
}

class OptionsTest : public testing::Test {
 protected:
  void TearDown() override {
    unsetenv("SLUICE_JOBS");
    unsetenv("SLUICE_LOG_LEVEL");
  }
};

TEST_F(OptionsTest, TakeEveryForm) {
  const auto options = parse({"-v", "a", "-j4", "--wait=2s", "--file", "x", "--file=y", "--", "-b"});
  ASSERT_TRUE(options) << options.error().text();
  EXPECT_TRUE(options->flag("verbose"));
  EXPECT_EQ(options->count("jobs"), 4U);
  EXPECT_EQ(options->duration("wait"), Duration(2, 0));
  EXPECT_EQ(options->all("file").size(), 2U);
  EXPECT_EQ(options->operands(), (std::vector<std::string>{"a", "-b"}));
  EXPECT_EQ(options->text("log-level"), "low");
}

TEST_F(OptionsTest, PreferCommandLineThenEnvironmentThenConfigurationThenDefault) {
  EXPECT_EQ(parse({})->count("jobs"), 2U);
  EXPECT_EQ(parse({}, "jobs = 3")->count("jobs"), 3U);
  setenv("SLUICE_JOBS", "5", 1);
  EXPECT_EQ(parse({}, "jobs = 3")->count("jobs"), 5U);
  EXPECT_EQ(parse({}, "jobs = 3")->all("jobs").front().origin, "SLUICE_JOBS");
  EXPECT_EQ(parse({"--jobs=7"}, "jobs = 3")->count("jobs"), 7U);
}

TEST_F(OptionsTest, PathsOfAConfigurationAreRelativeToIt) {
  const auto options = parse({}, "file = [\"a\", \"/b\"]");
  ASSERT_TRUE(options);
  EXPECT_EQ(options->all("file")[0].text, "/etc/a");
  EXPECT_EQ(options->all("file")[1].text, "/b");
}

void expect_refused(const Result<Options>& options, std::string_view part) {
  ASSERT_FALSE(options);
  EXPECT_TRUE(options.error().usage);
  EXPECT_NE(options.error().text().find(part), std::string::npos) << options.error().text();
}

TEST_F(OptionsTest, RefuseWhatIsWrong) {
  expect_refused(parse({"--verbos=1"}), "takes no value");
  expect_refused(parse({"--jbos=1"}), "did you mean '--jobs'?");
  expect_refused(parse({"-x"}), "unknown option '-x'");
  expect_refused(parse({"--jobs"}), "needs a value");
  expect_refused(parse({"-j"}), "needs a value");
  expect_refused(parse({"--jobs=0"}), "allowed is 1..64");
  expect_refused(parse({"--jobs=65"}), "allowed is 1..64");
  expect_refused(parse({"--jobs=x"}), "not a whole number");
  expect_refused(parse({"--jobs=1", "--jobs=2"}), "given twice");
  expect_refused(parse({"--wait=0s"}), "out of range");
  expect_refused(parse({"--log-level=hihg"}), "did you mean 'high'?");
  expect_refused(parse({"--file="}), "empty");
  expect_refused(parse({}, "jobs = 100"), "/etc/sluice.toml:1:8");
  expect_refused(parse({}, "jobs = [1, 2]"), "takes one value");
  expect_refused(parse({}, "jobs = {}"), "plain value");
  setenv("SLUICE_LOG_LEVEL", "loud", 1);
  expect_refused(parse({}), "SLUICE_LOG_LEVEL");
}

TEST_F(OptionsTest, StopAtTheFirstOperandWhereAsked) {
  const std::vector<std::string> arguments = {"-v", "cmd", "-v", "--jobs"};
  const auto options = Options::parse(rows, arguments, Config{}, true);
  ASSERT_TRUE(options);
  EXPECT_EQ(options->operands(), (std::vector<std::string>{"cmd", "-v", "--jobs"}));
}

TEST(Config, NamesFileLineAndColumn) {
  const auto broken = Config::parse("a = 1\nb = ", "/etc/s.toml");
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().what.find("/etc/s.toml:2:"), std::string::npos) << broken.error().what;
  constexpr std::array<std::string_view, 2> known = {"catalog", "place"};
  const auto status = Config::parse("catalog = 'x'\ncatlog = 1", "/etc/s.toml")->check_keys(known);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().text().find("/etc/s.toml:2:1: unknown key 'catlog'; did you mean 'catalog'?"),
            std::string::npos)
      << status.error().text();
}

}  // namespace
}  // namespace sluice

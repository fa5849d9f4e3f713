#include "base/subprocess.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <fstream>
#include <thread>

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::vector<Outcome> run(const std::vector<std::vector<std::string>>& commands, milliseconds time,
                         std::size_t limit = 1 << 20) {
  std::vector<Subprocess> all;
  for (const auto& words : commands) {
    all.push_back(Subprocess::start(words, limit));
  }
  return Subprocess::finish(std::move(all), steady_clock::now() + time);
}

TEST(Subprocess, GivesOutputAndStatus) {
  const auto out = run({{"sh", "-c", "printf 'a b\\n'; exit 3"}}, milliseconds(5000));
  ASSERT_EQ(out.size(), 1U);
  EXPECT_TRUE(out[0].found);
  EXPECT_TRUE(out[0].finished);
  EXPECT_EQ(out[0].status, 3);
  EXPECT_EQ(out[0].output, "a b\n");
}

TEST(Subprocess, MissingToolIsNotAnError) {
  const auto out = run({{"no-such-tool-here"}, {"/no/such/tool"}, {}, {""}}, milliseconds(100));
  for (const Outcome& one : out) {
    EXPECT_FALSE(one.found);
    EXPECT_FALSE(one.finished);
  }
}

TEST(Subprocess, DoesNotLookIntoPath) {
  EXPECT_EQ(find_tool("../../bin/sh").find("/usr/bin/../../bin/sh"), 0U);  // below the system's folders only
  EXPECT_EQ(find_tool("sh"), "/usr/bin/sh");
}

TEST(Subprocess, HasNoInputAndOnlyItsOwnEnvironment) {
  ASSERT_EQ(setenv("SLUICE_TEST_SECRET", "x", 1), 0);
  const auto out = run({{"cat"}, {"env"}}, milliseconds(5000));
  EXPECT_TRUE(out[0].finished);
  EXPECT_EQ(out[0].output, "");
  EXPECT_NE(out[1].output.find("LC_ALL=C\n"), std::string::npos);
  EXPECT_EQ(out[1].output.find("SLUICE_TEST_SECRET"), std::string::npos);
  unsetenv("SLUICE_TEST_SECRET");
}

TEST(Subprocess, RunsAtTheSameTime) {
  const auto start = steady_clock::now();
  const auto out = run({{"sleep", "0.3"}, {"sleep", "0.3"}, {"sleep", "0.3"}}, milliseconds(5000));
  EXPECT_LT(steady_clock::now() - start, milliseconds(800));
  for (const Outcome& one : out) {
    EXPECT_TRUE(one.finished);
  }
}

TEST(Subprocess, KillsTheWholeGroupWhenTimeIsUp) {
  const std::string mark = testing::TempDir() + "/subprocess-mark";
  std::remove(mark.c_str());
  const auto start = steady_clock::now();
  const auto out =
      run({{"sh", "-c", "echo begun; (sleep 1; touch " + mark + ") & sleep 5"}}, milliseconds(200));
  EXPECT_LT(steady_clock::now() - start, milliseconds(900));
  EXPECT_TRUE(out[0].found);
  EXPECT_FALSE(out[0].finished);
  EXPECT_EQ(out[0].output, "begun\n");
  std::this_thread::sleep_for(milliseconds(1200));
  EXPECT_FALSE(std::ifstream(mark).good()) << "the grandchild went on";
}

TEST(Subprocess, CapsTheOutput) {
  const auto out = run({{"sh", "-c", "head -c 1000000 /dev/zero"}}, milliseconds(5000), 1000);
  EXPECT_TRUE(out[0].finished);
  EXPECT_TRUE(out[0].truncated);
  EXPECT_EQ(out[0].output.size(), 1000U);
}

TEST(Subprocess, LeavesNoZombies) {
  run({{"true"}, {"sleep", "5"}}, milliseconds(50));
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace sluice

#include "base/subprocess.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/text.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::vector<Outcome> run(const std::vector<Command>& commands, milliseconds time,
                         std::size_t limit = 1 << 20) {
  std::vector<Subprocess> all;
  for (const Command& command : commands) {
    all.push_back(Subprocess::start(command, limit));
  }
  return Subprocess::finish(std::move(all), steady_clock::now() + time);
}

TEST(Subprocess, GivesOutputAndStatus) {
  const auto out = run({{"sh", {"-c", "printf 'a b\\n'; exit 3"}}}, milliseconds(5000));
  ASSERT_EQ(out.size(), 1U);
  EXPECT_TRUE(out[0].found);
  EXPECT_TRUE(out[0].finished);
  EXPECT_EQ(out[0].status, 3);
  EXPECT_EQ(out[0].output, "a b\n");
}

TEST(Subprocess, MissingToolIsNotAnError) {
  const auto out =
      run({Command::at("no-such-tool-here", {}), Command::at("/no/such/tool", {}), Command::at("", {})},
          milliseconds(100));
  for (const Outcome& one : out) {
    EXPECT_FALSE(one.found);
    EXPECT_FALSE(one.finished);
  }
}

TEST(Subprocess, DoesNotLookIntoPath) {
  ASSERT_EQ(setenv("PATH", "/nowhere", 1), 0);
  EXPECT_EQ(find_tool("sh"), "/usr/bin/sh");
}

TEST(Subprocess, HasNoInputAndOnlyItsOwnEnvironment) {
  ASSERT_EQ(setenv("SLUICE_TEST_SECRET", "x", 1), 0);
  const auto out = run({Command::at("/bin/cat", {}), {"env", {}}}, milliseconds(5000));
  EXPECT_TRUE(out[0].finished);
  EXPECT_EQ(out[0].output, "");
  EXPECT_NE(out[1].output.find("LC_ALL=C\n"), std::string::npos);
  EXPECT_EQ(out[1].output.find("SLUICE_TEST_SECRET"), std::string::npos);
  unsetenv("SLUICE_TEST_SECRET");
}

// Each waits for the other at a pipe: one after the other, neither would end.
TEST(Subprocess, RunsAtTheSameTime) {
  std::string folder = testing::TempDir() + "sluice-subprocess-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string pipe = folder + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto out =
      run({Command::at("/bin/cat", {pipe}), {"sh", {"-c", "echo met > " + pipe}}}, milliseconds(60000));
  EXPECT_TRUE(out[0].finished);
  EXPECT_TRUE(out[1].finished);
  EXPECT_EQ(out[0].output, "met\n");
  std::filesystem::remove_all(folder);
}

bool is_running(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string name;
  std::string state;
  return file >> name >> name >> state && state != "Z";
}

TEST(Subprocess, KillsTheWholeGroupWhenTimeIsUp) {
  // A machine too slow to start a shell in that time gets more of it.
  std::vector<Outcome> out;
  for (int time = 500; time <= 32000 && (out.empty() || out[0].output.empty()); time *= 4) {
    out = run({{"sh", {"-c", "sleep 1000 & echo $!; wait"}}}, milliseconds(time));
  }
  EXPECT_TRUE(out[0].found);
  EXPECT_FALSE(out[0].finished);
  const std::string pid(trim(out[0].output));
  ASSERT_FALSE(pid.empty());
  for (int i = 0; i < 1000 && is_running(pid); ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_FALSE(is_running(pid));
}

TEST(Subprocess, CapsTheOutput) {
  const auto out = run({{"sh", {"-c", "head -c 1000000 /dev/zero"}}}, milliseconds(5000), 1000);
  EXPECT_TRUE(out[0].finished);
  EXPECT_TRUE(out[0].truncated);
  EXPECT_EQ(out[0].output.size(), 1000U);
}

TEST(Subprocess, LeavesNoZombies) {
  run({Command::at("/bin/true", {}), Command::at("/bin/sleep", {"5"})}, milliseconds(50));
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace sluice

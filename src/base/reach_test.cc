#include "base/reach.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "base/sys.h"

namespace sluice {
namespace {

TEST(Answers, AnyAnswerCounts) {
  EXPECT_TRUE(answers("/", Duration(60, 0)));
  EXPECT_TRUE(answers("/nonexistent/file", Duration(60, 0)));
}

// With a look that never returns.
bool answers_never_looking(const std::string& path) {
  Sys table = real_sys();
  table.stat = [](const char* /*path*/, struct stat* /*out*/) {
    for (;;) {
      pause();
    }
    return 0;
  };
  const ScopedSys scope(table);
  return answers(path, Duration(0, 50'000'000));
}

TEST(Answers, WhatHangsDoesNotHoldTheCaller) {
  EXPECT_FALSE(answers_never_looking("/proc/self"));
  EXPECT_FALSE(answers_never_looking("/proc/nonexistent"));
  EXPECT_FALSE(answers_never_looking("relative"));
}

TEST(Answers, TheRootNeedsNoLook) {
  EXPECT_TRUE(answers_never_looking("/"));
  EXPECT_NE(access("/nonexistent", F_OK), 0);  // the kernel remembers that
  EXPECT_TRUE(answers_never_looking("/nonexistent/file"));
}

// It may lead anywhere.
TEST(Answers, ALinkIsLookedAt) {
  std::string link = testing::TempDir() + "sluice-reach-XXXXXX";
  ASSERT_NE(mkdtemp(link.data()), nullptr);
  ASSERT_EQ(rmdir(link.c_str()), 0);
  ASSERT_EQ(symlink("/", link.c_str()), 0);
  EXPECT_FALSE(answers_never_looking(link));
  EXPECT_FALSE(answers_never_looking(link + "/nonexistent"));
  unlink(link.c_str());
}

}  // namespace
}  // namespace sluice

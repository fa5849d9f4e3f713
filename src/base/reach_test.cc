#include "base/reach.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/sys.h"

namespace sluice {
namespace {

TEST(Answers, AnyAnswerCounts) {
  EXPECT_TRUE(answers("/", Duration(60, 0)));
  EXPECT_TRUE(answers("/nonexistent/file", Duration(60, 0)));
}

TEST(Answers, WhatHangsDoesNotHoldTheCaller) {
  Sys table = real_sys();
  table.stat = [](const char* /*path*/, struct stat* /*out*/) {
    for (;;) {
      pause();
    }
    return 0;
  };
  const ScopedSys scope(table);
  EXPECT_FALSE(answers("/", Duration(0, 50'000'000)));
}

}  // namespace
}  // namespace sluice

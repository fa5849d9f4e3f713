#include "pipeline/stack.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

namespace sluice {
namespace {

std::vector<std::string> seen;  // what happened, in order

template <char name>
std::int64_t noted(void*, void** file_state, sluice_activity* activity, const sluice_next* next) {
  seen.push_back(std::string(1, name) + "(" +
                 std::string(print(static_cast<sluice_operation>(activity->operation))));
  *file_state = &seen;
  const std::int64_t out = next->act(next, activity);
  seen.emplace_back(")");
  return out;
}

std::int64_t watched(void*, void**, sluice_activity* activity, const sluice_next* next) {
  seen.push_back("watched " + std::to_string(activity->result) + (next == nullptr ? "" : " next"));
  activity->result = 99;  // a copy: nobody sees it
  return 99;
}

std::int64_t halved(void*, void**, sluice_activity* activity, const sluice_next* next) {
  activity->length /= 2;
  return next->act(next, activity);
}

sluice_stage stage(const char* name, std::uint32_t operations,
                   std::int64_t (*act)(void*, void**, sluice_activity*, const sluice_next*),
                   bool aside = false) {
  return {.size = sizeof(sluice_stage),
          .version = SLUICE_STAGE_VERSION,
          .name = name,
          .summary = "",
          .scope = "activity",
          .interference = "none",
          .state = "none",
          .semantics = "kept",
          .parameters = "",
          .operations = operations,
          .aside = aside ? 1U : 0U,
          .start = nullptr,
          .act = act,
          .wants = nullptr};
}

const sluice_stage outer = stage("outer", SLUICE_ALL, noted<'o'>);
const sluice_stage inner = stage("inner", SLUICE_BIT(SLUICE_WRITE), noted<'i'>);
const sluice_stage watcher = stage("watcher", SLUICE_BIT(SLUICE_WRITE), watched, true);
const sluice_stage half = stage("half", SLUICE_BIT(SLUICE_WRITE), halved);
const sluice_stage chooser = [] {
  sluice_stage out = stage("chooser", SLUICE_BIT(SLUICE_WRITE) | SLUICE_BIT(SLUICE_SYNC), noted<'c'>);
  out.wants = [](void*) { return SLUICE_BIT(SLUICE_SYNC) | SLUICE_BIT(SLUICE_READ); };
  return out;
}();
constexpr std::array known = {&outer, &inner, &watcher, &half, &chooser};

Calls calls_that_note() {
  Calls out = {};
  out.write = [](int, const void*, std::size_t length) {
    seen.push_back("write " + std::to_string(length));
    return static_cast<ssize_t>(length);
  };
  out.pwrite = [](int, const void*, std::size_t, off_t) {
    errno = ENOSPC;
    return ssize_t{-1};
  };
  out.change_names = [] {
    seen.emplace_back("names");
    errno = EXDEV;
    return -1;
  };
  out.fsync = [](int) {
    seen.emplace_back("fsync");
    return 0;
  };
  return out;
}

class StackTest : public testing::Test {
 protected:
  void SetUp() override { seen.clear(); }

  Stack stack_of(const std::vector<std::string>& names) {
    Stack out;
    for (const std::string& name : names) {
      EXPECT_TRUE(out.add(name, known, why_)) << why_.data();
    }
    return out;
  }
  std::int64_t act(const Stack& stack, sluice_operation operation, std::int64_t offset = SLUICE_AT_POSITION) {
    activity_ = {};
    activity_.size = sizeof activity_;
    activity_.operation = operation;
    activity_.offset = offset;
    activity_.length = 8;
    activity_.path = "/x";
    return stack.act(calls_that_note(), states_, activity_);
  }

  sluice_activity activity_ = {};
  FileStates states_ = {};
  std::array<char, 512> why_ = {};
};

TEST_F(StackTest, StagesStandInTheirOrderAboveTheCall) {
  const Stack stack = stack_of({"outer", "half", "inner"});
  EXPECT_EQ(act(stack, SLUICE_WRITE), 4);
  EXPECT_EQ(seen, (std::vector<std::string>{"o(write", "i(write", "write 4", ")", ")"}));
  EXPECT_EQ(states_[0], &seen);
  EXPECT_EQ(states_[1], nullptr);
  EXPECT_EQ(states_[2], &seen);
}

TEST_F(StackTest, AStageSeesOnlyWhatItWants) {
  const Stack stack = stack_of({"inner"});
  EXPECT_TRUE(stack.wants(SLUICE_WRITE));
  EXPECT_FALSE(stack.wants(SLUICE_SYNC));
  EXPECT_EQ(act(stack, SLUICE_SYNC), 0);
  EXPECT_EQ(seen, std::vector<std::string>{"fsync"});
}

TEST_F(StackTest, WhatChangesNamesIsDoneByWhoeverBeganIt) {
  const Stack stack = stack_of({"inner"});
  for (const auto operation :
       {SLUICE_REMOVE, SLUICE_RENAME, SLUICE_LINK, SLUICE_MAKE_FOLDER, SLUICE_SYNC_FOLDER}) {
    EXPECT_FALSE(stack.wants(operation));
    EXPECT_EQ(act(stack, operation), -1);
    EXPECT_EQ(activity_.error, EXDEV);
  }
  EXPECT_EQ(seen, std::vector<std::string>(5, "names"));
  // Nobody has begun it.
  activity_.operation = SLUICE_REMOVE;
  EXPECT_EQ(stack.act(Calls{}, states_, activity_), -1);
  EXPECT_EQ(activity_.error, EINVAL);
}

TEST_F(StackTest, OneAsideGetsACopyWhenItIsDone) {
  const Stack stack = stack_of({"watcher", "inner"});
  EXPECT_EQ(act(stack, SLUICE_WRITE), 8);
  EXPECT_EQ(seen, (std::vector<std::string>{"i(write", "write 8", ")", "watched 8"}));
}

TEST_F(StackTest, ErrorsComeUpWithTheirNumber) {
  EXPECT_EQ(act(stack_of({"outer"}), SLUICE_WRITE, 5), -1);
  EXPECT_EQ(activity_.error, ENOSPC);
}

TEST_F(StackTest, TheSameStageMayStandTwice) {
  EXPECT_EQ(act(stack_of({"half", "half"}), SLUICE_WRITE), 2);
}

TEST_F(StackTest, RefusesWhatItCannotStack) {
  Stack stack;
  EXPECT_FALSE(stack.add("none", known, why_));
  EXPECT_NE(std::string(why_.data()).find("no such stage"), std::string::npos);
  EXPECT_FALSE(stack.add("outer:x=1", known, why_));
  EXPECT_NE(std::string(why_.data()).find("no parameters"), std::string::npos);
  EXPECT_FALSE(stack.add("", known, why_));
  EXPECT_FALSE(stack.add("/no/such/library.so", known, why_));
  for (std::size_t i = 0; i < most_stages; ++i) {
    EXPECT_TRUE(stack.add("outer", known, why_));
  }
  EXPECT_FALSE(stack.add("outer", known, why_));
}

TEST_F(StackTest, AStageMayWantLessThanItSays) {
  const Stack stack = stack_of({"chooser"});
  EXPECT_TRUE(stack.wants(SLUICE_SYNC) && stack.last_wants(SLUICE_SYNC));
  EXPECT_FALSE(stack.wants(SLUICE_WRITE));
  EXPECT_FALSE(stack.wants(SLUICE_READ));
  act(stack, SLUICE_WRITE);
  act(stack, SLUICE_SYNC);
  EXPECT_EQ(seen, (std::vector<std::string>{"write 8", "c(sync", "fsync", ")"}));
}

TEST_F(StackTest, WhatALibraryWantsIsAskedWhereItsHeaderHadIt) {
  sluice_stage grown = chooser;
  grown.size += 8;
  sluice_stage old = chooser;
  old.size = offsetof(sluice_stage, wants);
  old.wants = [](void*) -> std::uint32_t { std::abort(); };  // whatever lies there
  Stack of_grown;
  Stack of_old;
  EXPECT_TRUE(of_grown.add("chooser", std::array{&grown}, why_));
  EXPECT_TRUE(of_old.add("chooser", std::array{&old}, why_));
  EXPECT_FALSE(of_grown.wants(SLUICE_WRITE));
  EXPECT_TRUE(of_old.wants(SLUICE_WRITE));
}

}  // namespace
}  // namespace sluice

#include "plan/stages.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "intent/parse.h"

namespace sluice {
namespace {

template <class T>
Trait<T> stated(T value) {
  return {.value = std::move(value), .source = Source::configuration, .detail = "test"};
}

Place place(const std::string& name, double bandwidth, Duration latency) {
  Place out;
  out.name = name;
  out.path = "/" + name;
  out.mount = out.path;
  out.id = name;
  out.volume = name;
  out.writable = true;
  out.read_bandwidth = stated(bandwidth);
  out.write_bandwidth = stated(bandwidth);
  out.latency = stated(latency);
  out.seek = stated(Duration());
  out.iops = stated(1e9);
  out.block = stated<std::uint64_t>(4096);
  out.capacity = stated<std::uint64_t>(2'000'000'000);
  out.free = stated<std::uint64_t>(1'000'000'000);
  out.is_volatile = stated(false);
  out.global = stated(false);
  out.media = stated(Media::ssd);
  out.layout = stated(Layout{});
  return out;
}

// A disk whose requests take 20 ms, a device that is as fast as they get, and memory that is faster.
struct Machine {
  Place disk = place("disk", 100e6, Duration(0, 20'000'000));
  Place fast = place("fast", 2e9, Duration(0, 10'000));
  Place memory = place("memory", 9e9, Duration(0, 1'000));
  Machine() {
    memory.is_volatile = stated(true);
    memory.media = stated(Media::ram);
  }
};

// A line a stage: "rewrite:to=/fast/mine".
std::string stages(std::string_view words, const Machine& machine, const Place& home,
                   const Profiles& profiles = {}) {
  const std::vector<Place> places = {machine.disk, machine.fast, machine.memory};
  const StagePlan plan = plan_stages(*parse_intent(words), places, profiles, &home, "mine");
  EXPECT_EQ(plan.stages.size() + plan.without.size(), 3U);  // each of them has its reason
  std::vector<std::string> out;
  for (const auto& list : {plan.stages, plan.without}) {
    for (const StageChoice& choice : list) {
      EXPECT_FALSE(choice.why.empty());
    }
  }
  for (const StageChoice& choice : plan.stages) {
    out.push_back(choice.stage);
  }
  EXPECT_EQ(plan.elsewhere != nullptr, !out.empty() && out[0].starts_with("rewrite"));
  return join(out, " ");
}

std::string stages(std::string_view words, const Machine& machine = {}) {
  return stages(words, machine, machine.disk);
}

std::string why_not(std::string_view words, const Machine& machine, const Place& home, std::size_t which) {
  const std::vector<Place> places = {machine.disk, machine.fast, machine.memory};
  return plan_stages(*parse_intent(words), places, {}, &home, "mine").without.at(which).why;
}

constexpr const char* commits = "random write size-per-IO(4K) sync totalsize(8M)";

TEST(Stages, FlushedWritesGoWhereTheyAreSurelyFaster) {
  EXPECT_EQ(stages(commits), "rewrite:to=/fast/mine");
  EXPECT_EQ(stages("temp random write size-per-IO(4K) sync totalsize(8M)"), "rewrite:to=/memory/mine");
}

TEST(Stages, WhatNobodySaidIsNotAssumed) {
  EXPECT_EQ(stages(""), "");
  EXPECT_EQ(stages("temp totalsize(8M)"), "");
  EXPECT_EQ(stages("random size-per-IO(4K) sync totalsize(8M)"), "");
  EXPECT_EQ(stages("random read size-per-IO(4K) totalsize(8M)"), "");
  EXPECT_EQ(stages("random write size-per-IO(4K) sync"), "");  // would it fit?
  EXPECT_EQ(stages("sequential size-per-IO(64)"), "");
}

TEST(Stages, AVolatilePlaceIsForTempOrForWhatWasOnOne) {
  Machine machine;
  machine.fast.writable = false;
  EXPECT_EQ(stages(commits, machine), "");
  machine.disk.is_volatile = stated(true);
  EXPECT_EQ(stages(commits, machine), "rewrite:to=/memory/mine");
  machine.disk.is_volatile = {};  // not known
  EXPECT_EQ(stages(commits, machine), "");
}

TEST(Stages, ConstraintsHoldOnTheWayAndAtHome) {
  Machine machine;
  EXPECT_EQ(stages("persist random write size-per-IO(4K) sync totalsize(8M)"), "rewrite:to=/fast/mine");
  machine.fast.is_volatile = stated(true);
  EXPECT_EQ(stages("persist random write size-per-IO(4K) sync totalsize(8M)", machine), "");
  // It is safer elsewhere, and would not stay there.
  machine = {};
  machine.disk.is_volatile = stated(true);
  const char* words = "persist random write size-per-IO(4K) sync totalsize(8M)";
  EXPECT_EQ(stages(words, machine), "");
  EXPECT_NE(why_not(words, machine, machine.disk, 0).find("disk"), std::string::npos);
  EXPECT_NE(why_not(words, machine, machine.disk, 0).find("volatile"), std::string::npos);
  // A link is good on this machine only.
  machine = {};
  machine.disk.global = machine.fast.global = stated(true);
  EXPECT_EQ(stages("global random write size-per-IO(4K) sync totalsize(8M)", machine), "");
  // No room there, or not for both.
  EXPECT_EQ(stages("random write size-per-IO(4K) sync totalsize(2G)"), "");
  machine = {};
  machine.fast.promised = 999'000'000;
  EXPECT_EQ(stages(commits, machine), "");
}

TEST(Stages, TheWayHomeAndTheBoundsCount) {
  // 66 ms there and 90 ms home, against 700 ms; at worst 200 and 107, against 230.
  Machine machine;
  machine.disk.latency = stated(Duration(0, 100'000));
  EXPECT_EQ(stages(commits, machine), "");
  machine.disk.latency = stated(Duration(0, 200'000));
  EXPECT_EQ(stages(commits, machine), "rewrite:to=/fast/mine");
}

// Buffered writes of one place, at the smallest request and from there to 1 MiB.
Profile buffered(bool random, std::uint64_t from, double small, double whole) {
  constexpr std::uint64_t to = 1 << 20;
  const auto point = [](std::uint64_t size, double rate) {
    const double seconds = static_cast<double>(size) / rate;
    return Measured{.size = size, .seconds = seconds, .half = seconds / 20, .repetitions = 9, .outliers = 0};
  };
  Profile out;
  out.curves[index_of({.mode = Mode::buffered, .write = true, .random = random})] =
      fit({point(from, small), point(to, whole)}, std::vector{from, to});
  return out;
}

TEST(Stages, OfThePageCacheOnlyAProfileKnows) {
  const char* words = "random write size-per-IO(4K) totalsize(8M)";
  const Machine machine;
  EXPECT_EQ(stages(words), "");
  Profiles profiles{{"disk", {.profile = buffered(true, 4096, 1e6, 1e8), .why_not = ""}}};
  EXPECT_EQ(stages(words, machine, machine.disk, profiles), "");
  profiles["fast"].profile = buffered(true, 4096, 1e9, 1e9);
  EXPECT_EQ(stages(words, machine, machine.disk, profiles), "rewrite:to=/fast/mine");
  profiles["disk"].profile = buffered(true, 4096, 1e9, 1e9);
  EXPECT_EQ(stages(words, machine, machine.disk, profiles), "");
}

TEST(Stages, OneFileSystemIsNotAnotherPlace) {
  Machine machine;
  machine.fast.volume = machine.disk.volume;
  EXPECT_EQ(stages(commits, machine), "");
}

TEST(Stages, APathThatNoStageCanTakeIsNotTaken) {
  Machine machine;
  machine.fast.path = "/fast,er";
  EXPECT_EQ(stages(commits, machine), "");
}

TEST(Stages, HomeNeedNotBeWritableAsAWhole) {
  Machine machine;
  machine.disk.writable = false;  // but a folder on it may be
  EXPECT_EQ(stages(commits, machine), "rewrite:to=/fast/mine");
}

TEST(Stages, ReadsThatFollowARuleAreFetchedAhead) {
  EXPECT_EQ(stages("sequential read"), "readahead");
  EXPECT_EQ(stages("strided(1M) read"), "readahead:pattern=strided");
  EXPECT_EQ(stages("random read"), "");
  EXPECT_EQ(stages("read"), "");
  const Machine machine;
  EXPECT_EQ(stages("sequential read", machine, machine.memory), "");
}

TEST(Stages, SmallWritesAreMerged) {
  EXPECT_EQ(stages("write size-per-IO(64)"), "writeback");
  EXPECT_EQ(stages("sequential write size-per-IO(4K)"), "writeback");
  EXPECT_EQ(stages("sequential readwrite size-per-IO(64)"), "readahead writeback");
  EXPECT_EQ(stages("sequential write size-per-IO(8K)"), "");
  EXPECT_EQ(stages("sequential write size-per-IO(1M)"), "");
  EXPECT_EQ(stages("write"), "");
  EXPECT_EQ(stages("random write size-per-IO(64)"), "");
  EXPECT_EQ(stages("strided(1K) write size-per-IO(64)"), "");
  EXPECT_EQ(stages("write size-per-IO(64) sync"), "");
  Machine machine;
  machine.disk.global = stated(true);
  EXPECT_EQ(stages("write size-per-IO(64)", machine), "");
}

TEST(Stages, LargerWritesAreMergedWhereAProfileSaysSo) {
  const Machine machine;
  const auto known = [](double small, double whole) {
    return Profiles{{"disk", {.profile = buffered(false, 8192, small, whole), .why_not = ""}}};
  };
  EXPECT_EQ(stages("write size-per-IO(8K)", machine, machine.disk, known(1e8, 1e9)), "writeback");
  EXPECT_EQ(stages("write size-per-IO(8K)", machine, machine.disk, known(1e9, 1e9)), "");
  // It would leave them alone.
  EXPECT_EQ(stages("write size-per-IO(128K)", machine, machine.disk, known(1e8, 1e9)), "");
}

TEST(Stages, WhereNobodyKnowsTheFilesNothingIsDone) {
  const StagePlan plan =
      plan_stages(*parse_intent("sequential readwrite size-per-IO(64)"), {}, {}, nullptr, "");
  EXPECT_TRUE(plan.stages.empty());
  EXPECT_EQ(plan.without.size(), 3U);
}

}  // namespace
}  // namespace sluice

#include "tune/candidate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "intent/parse.h"

namespace sluice {
namespace {

Place place_of_kind(const std::string& name, Media media, double latency, double bandwidth) {
  Place out;
  out.name = name;
  out.path = "/" + name;
  out.mount = out.path;
  out.volume = name;
  out.id = name;
  out.writable = true;
  out.capacity.value = std::uint64_t{1} << 40;
  out.free.value = std::uint64_t{1} << 40;
  out.max_file.value = std::uint64_t{1} << 40;
  out.block.value = 4096;
  out.is_volatile.value = media == Media::ram;
  out.global.value = false;
  out.media.value = media;
  out.latency.value = Duration::from_seconds(latency);
  out.seek.value = Duration::from_seconds(0);
  out.read_bandwidth.value = bandwidth;
  out.write_bandwidth.value = bandwidth;
  out.iops.value = 1 / latency;
  return out;
}

class Candidates : public testing::Test {
 protected:
  // A program that writes a file in small pieces and flushes it now and then, on the disk.
  Candidates() {
    places_ = {place_of_kind("disk", Media::hdd, 0.01, 1e8), place_of_kind("fast", Media::nvram, 1e-4, 1e9),
               place_of_kind("memory", Media::ram, 1e-6, 4e9)};
    family_.glob = "out";
    family_.pattern = "/disk/out";
    family_.files = {"/disk/out"};
    family_.file_count = 1;
    family_.created = 1;
    family_.syncs = 100;
    family_.write = {
        .calls = 6400, .bytes = 6400 * 512, .seconds = 3, .typical = 512, .pattern = "sequential"};
    family_.seconds = 3;
  }

  std::vector<Candidate> make(const std::string& words = "write sequential totalsize(4M)") {
    loads_ = {{.family = &family_, .intent = *parse_intent(words), .home = &places_[0]}};
    return candidates_for(loads_, places_, {}, run_, "own");
  }

  static const Candidate* find(const std::vector<Candidate>& all, const std::string& name) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Candidate& one) { return one.name == name; });
    return found == all.end() ? nullptr : &*found;
  }

  std::vector<Place> places_;
  LearnedFamily family_;
  std::vector<FileLoad> loads_;
  TracedRun run_{.seconds = 3.5, .in_calls = 3};
};

TEST_F(Candidates, TheFirstIsTheProgramAsItIs) {
  const auto all = make();
  EXPECT_TRUE(all.front().is_native());
  EXPECT_DOUBLE_EQ(all.front().model.seconds, run_.seconds);
}

TEST_F(Candidates, FlushesAreCheaperElsewhereAndTheModelSaysSo) {
  const auto all = make();
  const Candidate* fast = find(all, "rewrite to fast");
  ASSERT_NE(fast, nullptr);
  EXPECT_EQ(fast->actions[0].stages.front(), "rewrite:to=/fast/own");
  EXPECT_LT(fast->model.seconds, run_.seconds / 2);
  EXPECT_LE(fast->model.low, fast->model.seconds);
  EXPECT_GE(fast->model.high, fast->model.seconds);
  EXPECT_EQ(fast->moved, std::vector<std::string>{"out"});
}

// The link is looked up where the file was, wherever that is now.
TEST_F(Candidates, NamesStayWhereTheyAre) {
  const double before = find(make(), "rewrite to fast")->model.seconds;
  family_.open_seconds = 2;
  EXPECT_GE(find(make(), "rewrite to fast")->model.seconds, 2);
  EXPECT_LT(before, 2);
}

// What fsync promised on the disk must hold where the file is meanwhile (promise 4).
TEST_F(Candidates, MemoryIsForTemporaryDataAlone) {
  EXPECT_EQ(find(make(), "rewrite to memory"), nullptr);
  const auto temporary = make("temp write sequential totalsize(4M)");
  const Candidate* memory = find(temporary, "rewrite to memory");
  ASSERT_NE(memory, nullptr);
  EXPECT_TRUE(memory->moved.empty());
}

TEST_F(Candidates, GlobalDataStays) {
  places_[0].global.value = true;
  const auto all = make();
  EXPECT_EQ(all.size(), 1U);
}

TEST_F(Candidates, OnlyNewFilesAreMadeElsewhere) {
  family_.created = 0;
  EXPECT_EQ(find(make(), "rewrite to fast"), nullptr);
}

TEST_F(Candidates, SmallWritesAreMerged) {
  EXPECT_NE(find(make(), "writeback"), nullptr);
  EXPECT_EQ(find(make("write sequential sync"), "writeback"), nullptr);
  family_.write.typical = 1 << 20;
  EXPECT_EQ(find(make(), "writeback"), nullptr);
}

TEST_F(Candidates, ManySmallFilesAreKeptTogether) {
  EXPECT_EQ(find(make(), "smallfiles"), nullptr);
  family_.file_count = 1000;
  family_.syncs = 0;
  family_.write.calls = 1000;
  const auto all = make();
  const Candidate* small = find(all, "smallfiles");
  ASSERT_NE(small, nullptr);
  EXPECT_EQ(small->actions[0].stages, std::vector<std::string>{"smallfiles:level=job"});
  EXPECT_FALSE(small->moved.empty()) << "others see them later: somebody has to agree";
}

TEST_F(Candidates, WhatIsOnlyReadCanBeMoved) {
  family_.created = 0;
  family_.syncs = 0;
  family_.write = {};
  family_.read = {.calls = 1000, .bytes = 4096000, .seconds = 3, .typical = 4096, .pattern = "random"};
  const auto all = make("read random totalsize(64M)");
  const Candidate* moved = find(all, "place on fast");
  ASSERT_NE(moved, nullptr);
  EXPECT_TRUE(moved->actions[0].moves);
  EXPECT_LT(moved->model.seconds, run_.seconds / 2);
  family_.file_count = 2;  // of which only one is known by name
  EXPECT_EQ(find(make("read random totalsize(64M)"), "place on fast"), nullptr);
  family_.file_count = 1;
  family_.seconds = 0.001;  // a script, say
  EXPECT_EQ(find(make("read random totalsize(64M)"), "place on fast"), nullptr);
}

// Fetching ahead saves at most the time of reads, and costs none, however wide the model's bounds are.
TEST_F(Candidates, FetchingAheadSavesReadsAtMost) {
  family_.read = {.calls = 1000, .bytes = 4096000, .seconds = 1, .typical = 4096, .pattern = "sequential"};
  const auto all = make("readwrite sequential totalsize(64M)");
  const Candidate* ahead = find(all, "readahead");
  ASSERT_NE(ahead, nullptr);
  EXPECT_DOUBLE_EQ(ahead->model.low, run_.seconds - 1);
  EXPECT_DOUBLE_EQ(ahead->model.seconds, run_.seconds - 0.5);
  EXPECT_DOUBLE_EQ(ahead->model.high, run_.seconds);
}

TEST_F(Candidates, FilesOfSeveralProcessesHaveParts) {
  family_.processes = 4;
  EXPECT_EQ(find(make(), "rewrite to fast")->actions[0].stages,
            std::vector<std::string>{"rewrite:to=/fast/own,combine=yes"});
}

TEST_F(Candidates, TwoPlacesForOneFileDoNotGoTogether) {
  const auto all = make("temp write sequential totalsize(4M)");
  EXPECT_FALSE(combined(*find(all, "rewrite to fast"), *find(all, "rewrite to memory"), run_));
  const auto both = combined(*find(all, "rewrite to fast"), *find(all, "writeback"), run_);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->actions[0].stages, (std::vector<std::string>{"rewrite:to=/fast/own", "writeback"}));
}

}  // namespace
}  // namespace sluice

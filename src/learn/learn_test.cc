#include "learn/learn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <random>

#include "base/json.h"
#include "intent/rules.h"
#include "learn/families.h"
#include "learn/names.h"
#include "trace/writer.h"

namespace sluice {
namespace {

// Writes a trace as a program would make it, and learns from it.
class Learn : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "sluice-learn-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    writer_.emplace(TraceWriter::create(folder_ + "/trace").value());
    ASSERT_TRUE(
        writer_->begin({{"points", {"program"}}, {"folder", "/data/run7"}, {"command", {"program"}}}));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void event(std::uint8_t operation, std::uint32_t file, std::int64_t offset, std::int64_t size,
             std::int32_t flags = 0, const std::string& path = "") {
    TraceEvent one;
    one.begin = ++now_;
    one.duration = 1;
    one.operation = operation;
    one.file = file;
    one.offset = offset;
    one.length = static_cast<std::uint64_t>(size);
    one.result = size;
    one.flags = flags;
    one.process = 1;
    one.thread = thread_;
    one.path = path.empty() ? 0 : writer_->number_of(path);
    ASSERT_TRUE(writer_->add(one));
  }
  std::uint32_t open(const std::string& path, int flags) {
    event(TraceEvent::open, ++file_, 0, 0, flags, path);
    return file_;
  }
  void close(std::uint32_t file) { event(TraceEvent::close, file, 0, 0); }
  void write_all(const std::string& path, int flags, int count, std::int64_t size, std::int64_t step) {
    const std::uint32_t file = open(path, O_CREAT | O_TRUNC | O_WRONLY | flags);
    for (int i = 0; i < count; ++i) {
      event(TraceEvent::write, file, i * step, size);
    }
    close(file);
  }
  Lessons learned(LearnSettings settings = {}) {
    EXPECT_TRUE(writer_->finish({{"status", 0}}));
    auto trace = TraceReader::open(folder_ + "/trace");
    EXPECT_TRUE(trace);
    settings.minimum_bytes = settings.minimum_bytes.value_or(0);
    auto out = learn(*trace, settings);
    EXPECT_TRUE(out);
    // Whatever was learned, it can be read.
    Rules rules;
    const Status parsed = rules.parse_toml_rules(rules_text(*out), "/data/run7/rules.toml");
    EXPECT_TRUE(parsed) << parsed.error().text() << rules_text(*out);
    for (const LearnedFamily& family : out->families) {
      for (const std::string& path : family.files) {
        EXPECT_EQ(rules.matching(path).size(), family.intent().empty() ? 0U : 1U) << path << rules_text(*out);
      }
    }
    return std::move(*out);
  }
  static const LearnedFamily* family(const Lessons& lessons, std::string_view glob) {
    for (const LearnedFamily& one : lessons.families) {
      if (one.glob == glob) {
        return &one;
      }
    }
    return nullptr;
  }

  std::string folder_;
  std::optional<TraceWriter> writer_;
  std::int64_t now_ = 0;
  std::uint32_t file_ = 0;
  std::uint32_t thread_ = 1;
};

TEST_F(Learn, FamiliesBehaveAlike) {
  for (int i = 0; i < 10; ++i) {
    write_all("/data/run7/out/step_" + std::to_string(i) + ".dat", 0, 20, 4096, 4096);
  }
  write_all("/data/run7/out/step_last.dat", O_DSYNC, 20, 100, 4096);
  const Lessons lessons = learned();
  const LearnedFamily* steps = family(lessons, "out/step_[0-9]*.dat");
  ASSERT_NE(steps, nullptr) << rules_text(lessons);
  EXPECT_EQ(steps->file_count, 10U);
  EXPECT_EQ(steps->intent(),
            "totalsize(800K) sequential write size-per-IO(4K) stream(step, write-intensive)");
  const LearnedFamily* last = family(lessons, "out/step_last.dat");
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->intent(), "persist totalsize(80K) strided(4K) write size-per-IO(100B) sync");
}

TEST_F(Learn, WhatBehavesAlikeIsOneFamily) {
  for (const char* name : {"1", "2", "3", "final"}) {
    write_all(std::string("/data/run7/step_") + name, 0, 20, 4096, 4096);
  }
  const Lessons lessons = learned();
  ASSERT_EQ(lessons.families.size(), 1U);
  EXPECT_EQ(lessons.families[0].glob, "step_*");
  EXPECT_EQ(lessons.families[0].file_count, 4U);
}

TEST_F(Learn, APartOfTheNameTellsThemApart) {
  for (int rank = 0; rank < 6; ++rank) {
    write_all("/data/run7/rank" + std::to_string(rank) + "/var1", 0, 20, 4096, 4096);
    write_all("/data/run7/rank" + std::to_string(rank) + "/var2", O_DSYNC, 20, 100, 1000);
  }
  const Lessons lessons = learned();
  EXPECT_NE(family(lessons, "rank*/var1"), nullptr) << rules_text(lessons);
  EXPECT_NE(family(lessons, "rank*/var2"), nullptr);
}

TEST_F(Learn, WhereNoNameTellsThemApartOnlyWhatTheyHaveInCommonIsSaid) {
  for (int i = 0; i < 200; ++i) {
    write_all("/data/run7/x" + std::to_string(i * 7919 % 1000), 0, 20, 4096, i % 3 == 0 ? 4096 : 65536);
  }
  const Lessons lessons = learned();
  for (const LearnedFamily& one : lessons.families) {
    if (one.file_count > 1 && !one.exact) {
      EXPECT_EQ(one.intent().find("sequential"), std::string::npos) << rules_text(lessons);
      EXPECT_EQ(one.intent().find("strided"), std::string::npos);
      EXPECT_NE(one.intent().find("write"), std::string::npos);
    }
  }
}

TEST_F(Learn, NamesThatNoTextCanHold) {
  write_all("/data/run7/a\n\xff\".dat", 0, 20, 4096, 4096);
  write_all("/data/run7/b[1]*\\.dat", O_DSYNC, 20, 100, 1000);
  write_all(std::string("/data/run7/") + "c d.dat", 0, 20, 100, 1000);
  EXPECT_EQ(learned().families.size(), 3U);
}

TEST_F(Learn, NothingDangerousIsSaid) {
  write_all("/tmp/scratch.tmp", 0, 100, 4096, 4096);
  const Lessons lessons = learned({.look = true});
  ASSERT_EQ(lessons.families.size(), 1U);
  const LearnedWord& temp = lessons.families[0].words.back();
  EXPECT_EQ(temp.word, "temp");
  EXPECT_TRUE(temp.confirm && temp.doubtful);
  EXPECT_NE(rules_text(lessons).find("# Only if you confirm it:\n  # \"temp\","), std::string::npos);
}

TEST_F(Learn, SyncedFilesAreNeverProposedAsTemporary) {
  write_all("/tmp/journal.tmp", O_DSYNC, 100, 4096, 4096);
  const Lessons lessons = learned({.look = true});
  for (const LearnedWord& word : lessons.families[0].words) {
    EXPECT_NE(word.word, "temp");
  }
}

TEST_F(Learn, WhatTheProgramRemovesMayBeTemporary) {
  write_all("/data/run7/spill", 0, 100, 4096, 4096);
  event(TraceEvent::remove, 0, 0, 0, 0, "/data/run7/spill");
  const Lessons lessons = learned();
  const LearnedWord& temp = lessons.families[0].words.back();
  EXPECT_EQ(temp.word, "temp");
  EXPECT_TRUE(temp.confirm && temp.doubtful);
  EXPECT_NE(temp.evidence.find("removed by it"), std::string::npos);
}

TEST_F(Learn, WhatGetsItsNameAtTheEndIsNotTemporary) {
  write_all("/tmp/result.tmp", 0, 100, 4096, 4096);
  event(TraceEvent::rename, 0, 0, 0, 0, "/tmp/result.tmp");
  write_all("/tmp/again.tmp", 0, 100, 100, 1000);
  event(TraceEvent::remove, 0, 0, 0, 0, "/tmp/again.tmp");
  open("/tmp/again.tmp", O_CREAT | O_WRONLY);
  const Lessons lessons = learned();
  ASSERT_EQ(lessons.families.size(), 2U);
  for (const LearnedFamily& family : lessons.families) {
    const bool renamed = family.files.front() == "/tmp/result.tmp";
    const auto& words = family.words;
    const auto temp =
        std::find_if(words.begin(), words.end(), [](const LearnedWord& word) { return word.word == "temp"; });
    EXPECT_EQ(temp == words.end(), renamed);
    // It is there again: only its name says so.
    EXPECT_TRUE(renamed || temp->evidence.find("named like") != std::string::npos);
  }
}

TEST_F(Learn, HintsAreWeakest) {
  const std::uint32_t file = open("/data/run7/table", O_RDONLY);
  event(TraceEvent::advise, file, 0, 0, POSIX_FADV_SEQUENTIAL);
  std::mt19937 random(1);
  for (int i = 0; i < 100; ++i) {
    event(TraceEvent::read, file, static_cast<std::int64_t>(random() % 1000) * 4096, 4096);
  }
  close(file);
  const std::uint32_t other = open("/data/run7/one", O_RDONLY);
  event(TraceEvent::advise, other, 0, 0, POSIX_FADV_RANDOM);
  event(TraceEvent::read, other, 0, 4096);
  close(other);
  const Lessons lessons = learned();
  const std::string intent = family(lessons, "table")->intent();
  EXPECT_NE(intent.find("random"), std::string::npos) << intent;
  EXPECT_EQ(intent.find("sequential"), std::string::npos);
  EXPECT_EQ(family(lessons, "one")->intent().find("random"), std::string::npos);
}

TEST_F(Learn, ThreadsOfOneFileAreTakenApart) {
  const std::uint32_t file = open("/data/run7/striped", O_CREAT | O_TRUNC | O_RDWR);
  for (int i = 0; i < 50; ++i) {
    for (thread_ = 1; thread_ <= 4; ++thread_) {
      event(TraceEvent::write, file, (i * 4 + static_cast<int>(thread_)) * 1000, 1000);
    }
  }
  const Lessons lessons = learned();
  EXPECT_NE(lessons.families[0].intent().find("strided(4000B)"), std::string::npos) << rules_text(lessons);
}

TEST_F(Learn, ThreadsThatTakeOnePieceAfterAnotherAreSequentialTogether) {
  const std::uint32_t file = open("/data/run7/queue", O_RDONLY);
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    thread_ = 1 + static_cast<std::uint32_t>(random() % 4);
    event(TraceEvent::read, file, i * 4096, 4096);
  }
  EXPECT_NE(learned().families[0].intent().find("sequential"), std::string::npos);
}

TEST_F(Learn, OnlyWhatIsWanted) {
  write_all("/data/run7/a", 0, 20, 4096, 4096);
  write_all("/data/run7/b", 0, 20, 100, 100);
  const std::uint32_t file = open("/usr/lib/x.so", O_RDONLY);
  event(TraceEvent::read, file, 0, 4096);
  const Lessons lessons = learned({.minimum_bytes = 10000});
  ASSERT_EQ(lessons.families.size(), 1U);
  EXPECT_EQ(lessons.families[0].glob, "a");
  EXPECT_EQ(lessons.left_out_small, 1U);
  EXPECT_EQ(lessons.left_out_system, 1U);
}

TEST(Names, NumbersDatesAndHashes) {
  const auto glob = [](const std::vector<std::string>& paths) {
    std::vector<std::vector<NamePart>> all;
    for (const std::string& path : paths) {
      all.push_back(parts_of(path, 0));
      EXPECT_EQ(skeleton_of(all.back()), skeleton_of(all.front())) << path;
    }
    return glob_of(all, Width::any);
  };
  EXPECT_EQ(glob({"/d/v2/step_01.dat", "/d/v2/step_2.dat"}), "/d/v2/step_*.dat");
  EXPECT_EQ(glob({"/d/log-2024-01-31.txt"}), "/d/log-*.txt");
  EXPECT_EQ(glob({"/d/log20240131.txt"}), "/d/log*.txt");
  EXPECT_EQ(glob({"/g/objects/ab/0123456789abcdef0123", "/g/objects/00/fedcba98765432100000"}),
            "/g/objects/*/*");
  EXPECT_EQ(glob({"/t/tmpab12_x"}), "/t/tmpab12_x");
  EXPECT_EQ(glob({"/t/a*1", "/t/a*2"}), "/t/a\\**");
  EXPECT_EQ(glob({"/t/only"}), "/t/only");
}

}  // namespace
}  // namespace sluice

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <random>

#include "base/files.h"
#include "base/json.h"
#include "replay/feed.h"
#include "replay/scan.h"
#include "replay/scratch.h"
#include "trace/writer.h"

namespace sluice {
namespace {

// Steps as they come, by strand.
class Recorder : public StepSink {
 public:
  explicit Recorder(std::size_t strands) : steps(strands) {}
  Status put(std::uint32_t strand, Step step, const std::string& path) override {
    steps[strand].push_back(step);
    paths[strand].push_back(path);
    return {};
  }
  // Which operations of which strands a strand waits for.
  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::int64_t>> waits(std::uint32_t strand) const {
    std::vector<std::pair<std::uint32_t, std::int64_t>> out;
    for (const Step& step : steps[strand]) {
      if (step.kind == Step::wait) {
        out.emplace_back(step.other, step.result);
      }
    }
    return out;
  }

  std::vector<std::vector<Step>> steps;
  std::map<std::uint32_t, std::vector<std::string>> paths;
};

class Replay : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "sluice-replay-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    auto writer = TraceWriter::create(folder_ + "/trace");
    ASSERT_TRUE(writer);
    writer_.emplace(std::move(*writer));
    ASSERT_TRUE(writer_->begin({{"points", {"program"}}}));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void add(TraceEvent event) {
    event.process = event.process == 0 ? 1 : event.process;
    event.thread = event.thread == 0 ? event.process : event.thread;
    ASSERT_TRUE(writer_->add(event));
  }
  void open(std::int64_t begin, std::uint32_t thread, std::uint32_t file, const std::string& path, int flags,
            std::int64_t result = 3) {
    add({.begin = begin,
         .duration = 5,
         .result = result,
         .flags = flags,
         .thread = thread,
         .file = result < 0 ? 0 : file,
         .path = writer_->number_of(path),
         .operation = TraceEvent::open});
  }
  void move(std::int64_t begin, std::uint32_t thread, std::uint32_t file, std::uint8_t operation,
            std::uint64_t length, std::int64_t result, std::int64_t offset = TraceEvent::at_position) {
    add({.begin = begin,
         .duration = 5,
         .offset = offset,
         .length = length,
         .result = result,
         .thread = thread,
         .file = file,
         .operation = operation});
  }
  void names(std::int64_t begin, std::uint8_t operation, const std::string& path,
             const std::string& other = "", std::int64_t result = 0, std::uint32_t thread = 0,
             int flags = 0) {
    add({.begin = begin,
         .duration = 5,
         .result = result,
         .flags = flags,
         .thread = thread,
         .path = writer_->number_of(path),
         .other = other.empty() ? 0 : writer_->number_of(other),
         .operation = operation});
  }
  void started(std::int64_t begin, std::uint32_t process, std::uint32_t parent) {
    add({.begin = begin,
         .result = parent,
         .process = process,
         .path = writer_->number_of("/bin/program"),
         .operation = TraceEvent::started});
  }

  TraceScan scan(const std::function<bool(const std::string&)>& covers = {}) {
    EXPECT_TRUE(writer_->finish({}));
    auto reader = TraceReader::open(folder_ + "/trace");
    EXPECT_TRUE(reader);
    auto out = scan_trace(*reader, 0, covers);
    EXPECT_TRUE(out);
    return *out;
  }
  // REQUIRES: scan() was called
  Recorder feed(const TraceScan& scan) {
    Recorder out(scan.strands.size());
    auto reader = TraceReader::open(folder_ + "/trace");
    EXPECT_TRUE(reader);
    Feeder feeder(scan, *reader, out);
    TraceEvent event;
    while (reader->next(event).value()) {
      EXPECT_TRUE(feeder.take(event));
    }
    EXPECT_TRUE(feeder.finish());
    return out;
  }

  std::string folder_;
  std::optional<TraceWriter> writer_;
};

TEST_F(Replay, AFileIsAsLargeBeforehandAsWhatWasReadOfIt) {
  open(0, 0, 1, "/in", O_RDONLY);
  move(10, 0, 1, TraceEvent::read, 100, 100);
  move(20, 0, 1, TraceEvent::read, 100, 50);
  move(30, 0, 1, TraceEvent::read, 100, 0);
  open(40, 0, 2, "/out", O_RDWR | O_CREAT | O_TRUNC);
  move(50, 0, 2, TraceEvent::write, 500, 500);
  move(60, 0, 2, TraceEvent::read, 200, 200, 100);
  open(70, 0, 3, "/seen", O_RDONLY);
  add({.begin = 80,
       .offset = -10,
       .result = 990,
       .flags = SEEK_END,
       .file = 3,
       .operation = TraceEvent::seek});
  const TraceScan scanned = scan();
  ASSERT_EQ(scanned.files.size(), 4U);
  EXPECT_TRUE(scanned.files[1].prepared);
  EXPECT_EQ(scanned.files[1].initial, 150U);
  EXPECT_FALSE(scanned.files[2].prepared);
  EXPECT_EQ(scanned.files[2].initial, 0U);
  EXPECT_EQ(scanned.files[3].initial, 1000U);
  EXPECT_EQ(scanned.room(), 150U + 500U + 1000U);
}

TEST_F(Replay, FilesThatDoNotCountTakeTheirTime) {
  open(0, 0, 1, "/away/in", O_RDONLY);
  move(10, 0, 1, TraceEvent::read, 100, 100);
  open(20, 0, 2, "/home/out", O_RDWR | O_CREAT | O_TRUNC);
  move(30, 0, 1, TraceEvent::read, 100, 100);
  move(40, 0, 2, TraceEvent::write, 70, 70);
  const TraceScan scanned = scan([](const std::string& path) { return path.starts_with("/home/"); });
  EXPECT_EQ(scanned.room(), 70U);
  const std::vector<Step> steps = feed(scanned).steps[1];
  ASSERT_EQ(steps.size(), 6U);
  EXPECT_EQ(steps[1].kind, Step::nothing);
  EXPECT_EQ(steps[2].kind, TraceEvent::open);
  EXPECT_EQ(steps[2].think, 10);  // since the read before it began
  EXPECT_EQ(steps[3].kind, Step::nothing);
  EXPECT_EQ(steps[4].kind, TraceEvent::write);
}

// What is renamed is not in a trace.
TEST_F(Replay, APathThatIsAnotherFileHasAnotherFile) {
  open(0, 0, 1, "/index", O_RDONLY);
  move(10, 0, 1, TraceEvent::read, 100, 60);
  open(20, 0, 2, "/index", O_RDONLY);
  move(30, 0, 2, TraceEvent::read, 100, 80);
  open(40, 0, 3, "/index", O_RDONLY);
  move(50, 0, 3, TraceEvent::read, 100, 80);
  open(60, 0, 4, "/lock", O_WRONLY | O_CREAT | O_EXCL);
  open(70, 0, 5, "/lock", O_WRONLY | O_CREAT | O_EXCL);
  const TraceScan scanned = scan();
  EXPECT_EQ(scanned.file_of[3], scanned.file_of[2]);
  EXPECT_NE(scanned.file_of[1], scanned.file_of[2]);
  EXPECT_EQ(scanned.files[scanned.file_of[1]].initial, 60U);
  EXPECT_EQ(scanned.files[scanned.file_of[2]].initial, 80U);
  EXPECT_EQ(scanned.names[scanned.name_of[2]].number, 1U);
  EXPECT_NE(scanned.file_of[4], scanned.file_of[5]);
}

TEST_F(Replay, ThreadsWaitForChangesOfAPathAlone) {
  open(0, 1, 1, "/f", O_RDWR);
  open(10, 2, 2, "/f", O_RDWR);                 // both only look
  move(20, 1, 1, TraceEvent::read, 10, 10);     // strand 1, operation 2
  move(30, 2, 2, TraceEvent::read, 10, 10);     // does not wait
  move(40, 2, 2, TraceEvent::write, 10, 10);    // waits for what 1 has read
  move(42, 1, 1, TraceEvent::write, 10, 10);    // overlaps that: waits for what 2 has read alone
  move(50, 1, 1, TraceEvent::read, 10, 10, 0);  // waits for the write of 2
  move(60, 2, 2, TraceEvent::read, 10, 10, 0);  // waits for the write of 1
  const TraceScan scanned = scan();
  ASSERT_EQ(scanned.strands.size(), 3U);
  const Recorder recorded = feed(scanned);
  using Waits = std::vector<std::pair<std::uint32_t, std::int64_t>>;
  EXPECT_EQ(recorded.waits(2), (Waits{{1, 2}, {1, 3}}));
  EXPECT_EQ(recorded.waits(1), (Waits{{2, 2}, {2, 3}, {2, 5}}));  // the last: for its end, of who started it
}

TEST_F(Replay, WhoStartedAProcessWaitsForItsEnd) {
  started(0, 1, 99);
  open(1, 0, 1, "/a", O_RDWR | O_CREAT);
  add({.begin = 20,
       .duration = 5,
       .length = 3,
       .result = 3,
       .process = 7,
       .file = 1,
       .operation = TraceEvent::write,
       .point = 0});
  started(21, 7, 1);
  move(50, 1, 1, TraceEvent::write, 3, 3);
  const TraceScan scanned = scan();
  EXPECT_EQ(scanned.processes, 2U);
  ASSERT_EQ(scanned.strands.size(), 3U);  // and whoever began it all
  EXPECT_EQ(scanned.strands[2].creator, 1U);
  EXPECT_EQ(scanned.strands[2].spawn_after, 1U);
  const Recorder recorded = feed(scanned);
  const std::vector<Step>& steps = recorded.steps[1];
  ASSERT_EQ(steps.size(), 5U);
  EXPECT_EQ(steps[0].kind, TraceEvent::open);
  EXPECT_EQ(steps[1].kind, Step::spawn_process);
  EXPECT_EQ(steps[2].kind, Step::wait);
  EXPECT_EQ(steps[2].result, 2);  // its write, and its end
  EXPECT_EQ(steps[3].kind, TraceEvent::write);
  EXPECT_EQ(steps[3].think, 50 - 25);
  EXPECT_EQ(steps[4].kind, Step::end);
  EXPECT_EQ(recorded.steps[2][0].slot, steps[0].slot);  // the file that it was born with
}

TEST_F(Replay, FailedOpensFailAgainWhereTheyCan) {
  open(0, 0, 1, "/f", O_RDONLY);
  open(10, 0, 0, "/none", O_RDONLY, -ENOENT);
  open(20, 0, 0, "/f", O_WRONLY | O_CREAT | O_EXCL, -EEXIST);
  open(30, 0, 0, "/secret", O_RDONLY, -EACCES);
  move(40, 0, 77, TraceEvent::read, 1, 1);  // of a file that nobody opened
  const TraceScan scanned = scan();
  const Recorder recorded = feed(scanned);
  const std::vector<Step>& steps = recorded.steps[1];
  ASSERT_EQ(steps.size(), 6U);
  EXPECT_EQ(steps[1].kind, TraceEvent::open);
  EXPECT_EQ(recorded.paths.at(1)[1], "absent");
  EXPECT_EQ(recorded.paths.at(1)[2], "0/f");
  EXPECT_EQ(steps[3].kind, Step::nothing);
  EXPECT_EQ(steps[4].kind, Step::nothing);
}

TEST_F(Replay, APathThatIsFreeAgainHasItsNameAgain) {
  for (int i = 0; i < 3; ++i) {
    open(i * 100, 0, 1 + static_cast<std::uint32_t>(i), "/d/journal", O_CREAT | O_RDWR);
    move(i * 100 + 10, 0, 1 + static_cast<std::uint32_t>(i), TraceEvent::write, 100, 100);
    names(i * 100 + 20, TraceEvent::sync_folder, "/d");
    names(i * 100 + 30, TraceEvent::remove, "/d/journal");
  }
  // Somebody who was not seen made it once more, and then it is removed without having been opened.
  open(400, 0, 4, "/d/journal", O_RDONLY);
  move(410, 0, 4, TraceEvent::read, 100, 100);
  names(420, TraceEvent::remove, "/d/journal");
  names(430, TraceEvent::remove, "/d/journal");
  names(440, TraceEvent::remove, "/d/journal", "", -ENOENT);
  const TraceScan scanned = scan();
  const Recorder recorded = feed(scanned);
  const std::vector<std::string>& paths = recorded.paths.at(1);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(scanned.files[scanned.file_of[i + 1]].prepared);
    EXPECT_EQ(paths[i * 4], "0/d/journal");
    EXPECT_EQ(paths[i * 4 + 2], "0/d");
    EXPECT_EQ(paths[i * 4 + 3], "0/d/journal");
  }
  EXPECT_TRUE(scanned.files[scanned.file_of[4]].prepared);
  EXPECT_EQ(scanned.files[scanned.file_of[4]].initial, 100U);
  EXPECT_EQ(paths[12], "1/d/journal");
  EXPECT_EQ(paths[14], "1/d/journal");
  EXPECT_EQ(paths[15], "2/d/journal");
  EXPECT_TRUE(scanned.files.back().prepared);
  EXPECT_EQ(paths[16], "absent");
  EXPECT_EQ(scanned.files.size(), 6U);
}

// Promise 12.
TEST_F(Replay, ANumberThatNoRunGivesTakesNoMemory) {
  open(0, 0, (1U << 28U) - 1, "/a", O_CREAT | O_WRONLY);
  open(10, 0, 2, "/b", O_CREAT | O_WRONLY);
  EXPECT_EQ(scan().file_of.size(), 3U);
}

TEST_F(Replay, WhatAnOpenFoundIsWhatIsThereThen) {
  open(0, 0, 1, "/a", O_CREAT | O_WRONLY);
  names(10, TraceEvent::rename, "/a", "/b");
  open(20, 0, 0, "/a", O_CREAT | O_EXCL | O_WRONLY, -EEXIST);  // somebody who was not seen has made it
  open(30, 0, 0, "/b", O_CREAT | O_EXCL | O_WRONLY, -EEXIST);
  const TraceScan scanned = scan();
  const Recorder recorded = feed(scanned);
  EXPECT_EQ(recorded.paths.at(1)[2], "1/a");
  EXPECT_EQ(recorded.paths.at(1)[3], "0/b");
  EXPECT_TRUE(scanned.files.back().prepared);
}

TEST_F(Replay, AFileKeepsItsContentsUnderAnotherName) {
  open(0, 0, 1, "/new.tmp", O_CREAT | O_EXCL | O_WRONLY);
  move(10, 0, 1, TraceEvent::write, 100, 100);
  names(20, TraceEvent::rename, "/new.tmp", "/old");
  open(30, 0, 2, "/old", O_RDONLY);
  move(40, 0, 2, TraceEvent::read, 4096, 100);
  // Of another thread, which has to wait for it.
  names(50, TraceEvent::link, "/old", "/third", 0, 2);
  open(60, 3, 3, "/third", O_RDONLY);
  move(70, 3, 3, TraceEvent::read, 4096, 100);
  names(80, TraceEvent::rename, "/third", "/fourth", 0, 3, RENAME_EXCHANGE);
  names(90, TraceEvent::rename, "/no", "/where", -ENOENT, 3);
  const TraceScan scanned = scan();
  EXPECT_EQ(scanned.file_of[1], scanned.file_of[2]);
  EXPECT_EQ(scanned.file_of[1], scanned.file_of[3]);
  EXPECT_FALSE(scanned.files[scanned.file_of[1]].prepared);
  EXPECT_EQ(scanned.files.size(), 3U);  // and what "/fourth" was before
  EXPECT_TRUE(scanned.files[2].prepared);
  const Recorder recorded = feed(scanned);
  EXPECT_EQ(recorded.paths.at(1)[2], std::string("0/new.tmp\0"
                                                 "0/old",
                                                 15));
  EXPECT_EQ(recorded.paths.at(1)[3], "0/old");
  const std::uint32_t second = scanned.by_thread.at(std::uint64_t{1} << 32U | 2);
  const std::uint32_t third = scanned.by_thread.at(std::uint64_t{1} << 32U | 3);
  EXPECT_FALSE(recorded.waits(second).empty());
  ASSERT_FALSE(recorded.waits(third).empty());
  EXPECT_EQ(recorded.waits(third).front().first, second);
  EXPECT_EQ(recorded.paths.at(third).back(), "");  // the end
  EXPECT_EQ(recorded.paths.at(third)[recorded.paths.at(third).size() - 2], std::string("absent\0absent", 13));
}

// Names of folders change nothing: all that are needed are there.
TEST_F(Replay, FoldersAreThereBeforehand) {
  names(0, TraceEvent::make_folder, "/d");
  open(10, 0, 1, "/d/file", O_CREAT | O_WRONLY);
  names(20, TraceEvent::rename, "/d", "/e");
  names(30, TraceEvent::remove, "/e", "", 0, 0, AT_REMOVEDIR);
  names(40, TraceEvent::remove, "/elsewhere/file");
  names(50, TraceEvent::sync_folder, "/elsewhere");
  const TraceScan scanned = scan([](const std::string& path) { return !path.starts_with("/elsewhere/"); });
  const Recorder recorded = feed(scanned);
  ASSERT_EQ(recorded.steps[1].size(), 7U);
  EXPECT_EQ(scanned.files.size(), 2U);
  for (const unsigned at : {0U, 2U, 3U, 4U, 5U}) {
    EXPECT_EQ(recorded.steps[1][at].kind, Step::nothing) << at;
  }
}

// Whatever a trace says, no step waits for one that never comes, in whatever order threads are run.
TEST_F(Replay, NobodyWaitsForever) {
  std::mt19937 random(5);
  const auto any = [&](std::uint32_t most) { return static_cast<std::uint32_t>(random() % most); };
  for (int i = 0; i < 20000; ++i) {
    const std::uint32_t process = 1 + any(8);
    constexpr std::array operations = {
        TraceEvent::open, TraceEvent::close,  TraceEvent::read,   TraceEvent::write, TraceEvent::truncate,
        TraceEvent::sync, TraceEvent::remove, TraceEvent::rename, TraceEvent::link,  TraceEvent::started};
    const auto operation = operations[any(operations.size())];
    const bool names =
        operation == TraceEvent::remove || operation == TraceEvent::rename || operation == TraceEvent::link;
    const bool opens = operation == TraceEvent::open || names;
    add({.begin = i * 10,
         .duration = static_cast<std::int64_t>(any(200)) - 10,
         .offset = static_cast<std::int64_t>(any(1000)) - 1,
         .length = any(100),
         .result = operation == TraceEvent::started ? any(12) : static_cast<std::int64_t>(any(100)) - 10,
         .flags = static_cast<std::int32_t>(random()) >> any(31),
         .process = process,
         .thread = process * 10 + any(3),
         .file = any(50),
         .path = opens || operation == TraceEvent::started ? writer_->number_of("/p" + std::to_string(any(9)))
                                                           : 0,
         .other = names ? writer_->number_of("/p" + std::to_string(any(9))) : 0,
         .operation = operation});
  }
  const TraceScan scanned = scan();
  const Recorder recorded = feed(scanned);
  std::vector<std::size_t> at(recorded.steps.size());
  std::vector<std::int64_t> done(recorded.steps.size());
  std::vector<bool> spawned(recorded.steps.size());
  spawned[0] = true;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t i = 0; i < at.size(); ++i) {
      while (spawned[i] && at[i] < recorded.steps[i].size()) {
        const Step& step = recorded.steps[i][at[i]];
        if (step.kind == Step::wait && done[step.other] < step.result) {
          break;
        }
        if (step.kind == Step::spawn_process || step.kind == Step::spawn_thread) {
          EXPECT_FALSE(spawned[step.other]);
          spawned[step.other] = true;
        } else if (step.kind != Step::wait) {
          ++done[i];
        }
        ++at[i];
        moved = true;
      }
    }
  }
  for (std::size_t i = 0; i < at.size(); ++i) {
    EXPECT_TRUE(spawned[i]);
    EXPECT_EQ(at[i], recorded.steps[i].size()) << i;
    EXPECT_EQ(static_cast<std::uint64_t>(done[i]), scanned.strands[i].operations + 1);
    EXPECT_EQ(recorded.steps[i].back().kind, Step::end);
  }
}

TEST_F(Replay, NamesStayInTheFolder) {
  const std::string longest(255, 'x');
  const std::vector<std::string> odd = {"/a/../../b",      "/a",
                                        "/a/b/c",          "/x/" + longest + "/y",
                                        "relative",        "/",
                                        "/a//./b",         "/" + std::string(3000, 'y'),
                                        "/new\nline \xff", std::string("/nul\0x", 6)};
  std::uint32_t number = 1;
  for (const std::string& path : odd) {
    open(number * 10, 0, number, path, O_RDONLY);
    move(number * 10 + 5, 0, number, TraceEvent::read, 10, 7);
    ++number;
  }
  TraceScan scanned = scan();
  auto reader = TraceReader::open(folder_ + "/trace");
  ASSERT_TRUE(reader);
  ASSERT_TRUE(make_folders(folder_ + "/to"));
  auto scratch = Scratch::make(folder_ + "/to");
  ASSERT_TRUE(scratch);
  const auto made =
      scratch->prepare(scanned, *reader, true, [](std::uint64_t, std::uint64_t) { return true; });
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(*made, odd.size() * 7);
  std::size_t files = 0;
  for (const auto& one : std::filesystem::recursive_directory_iterator(folder_ + "/to")) {
    files += one.is_regular_file() ? 1U : 0U;
  }
  EXPECT_EQ(files, odd.size() + 1);  // and what says that it is ours
  for (std::uint32_t i = 1; i < scanned.files.size(); ++i) {
    struct stat about {};
    const std::string name = Scratch::name_of(scanned, scanned.files[i].name, *reader);
    EXPECT_EQ(stat((scratch->path() + "/" + name).c_str(), &about), 0) << name;
    EXPECT_EQ(about.st_size, 7);
  }
  ASSERT_TRUE(scratch->remove());
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/to"));
}

TEST_F(Replay, WhatWasLeftBehindIsRemovedAndNothingElse) {
  const std::string left = folder_ + "/.sluice-replay-AAAAAA";
  ASSERT_TRUE(make_folders(left + "/0/a"));
  ASSERT_TRUE(write_file(left + "/.made-by-sluice", ""));
  // Of somebody who happens to call it so.
  const std::string other = folder_ + "/.sluice-replay-CCCCCC";
  ASSERT_TRUE(make_folders(other + "/results"));
  ASSERT_TRUE(make_folders(folder_ + "/sluice-replay-BBBBBB"));
  {
    auto first = Scratch::make(folder_);
    ASSERT_TRUE(first);
    EXPECT_FALSE(std::filesystem::exists(left));
    EXPECT_TRUE(std::filesystem::exists(other + "/results"));
    EXPECT_TRUE(std::filesystem::exists(folder_ + "/sluice-replay-BBBBBB"));
    auto second = Scratch::make(folder_);
    ASSERT_TRUE(second);
    EXPECT_TRUE(std::filesystem::exists(first->path()));
    const std::string kept = second->keep();
    EXPECT_TRUE(std::filesystem::exists(kept));
    EXPECT_FALSE(std::filesystem::exists(kept + "/.made-by-sluice"));
    EXPECT_TRUE(Scratch::make(folder_));
    EXPECT_TRUE(std::filesystem::exists(kept));
  }
  EXPECT_EQ(Scratch::make(folder_ + "/trace").error().number, ENOTDIR);
  EXPECT_EQ(Scratch::make(folder_ + "/none").error().number, ENOENT);
}

TEST(ReplayPace, IsOriginalFastOrAFactor) {
  EXPECT_EQ(ReplayPace::parse("original")->factor, 1);
  EXPECT_EQ(ReplayPace::parse("fast")->factor, 0);
  EXPECT_EQ(ReplayPace::parse("2.5")->factor, 2.5);
  for (const char* bad : {"", "0", "-1", "nan", "inf", "fastest", "1e9"}) {
    EXPECT_FALSE(ReplayPace::parse(bad)) << bad;
  }
}

}  // namespace
}  // namespace sluice

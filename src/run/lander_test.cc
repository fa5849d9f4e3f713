#include "run/lander.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/files.h"
#include "base/test_root.h"
#include "intent/parse.h"
#include "run/shared.h"

namespace sluice {
namespace {

// An area, and a folder in which files are pending.
class Landing : public testing::Test {
 protected:
  void SetUp() override {
    auto made = SharedArea::make({{.files = *Glob::parse("/**"), .stages = {"smallfiles:level=job"}}},
                                 {.memory = 4 << 20, .mounts = {}, .trace_points = {}});
    ASSERT_TRUE(made) << made.error().text();
    // A process has one in its life: no other may come to be where it was.
    static std::vector<SharedArea> all;
    all.reserve(100);
    all.push_back(std::move(*made));
    shared_ = &all.back();
    set_area(&area());
    begin_process();
    begin_child();  // looks again: another test may have had a keeper before there was an area
    std::string name = testing::TempDir() + "lander-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    set_area(nullptr);
    unlink(area().own_path.data());  // also where something is left in it
    std::filesystem::remove_all(folder_);
  }

  Area& area() { return shared_->area(); }
  FolderId id() const {
    struct stat found {};
    stat(folder_.c_str(), &found);
    return {.device = found.st_dev, .inode = found.st_ino};
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  // Written and closed; false where there is no room.
  bool make(const std::string& name, const std::string& text) {
    Pending* file = add_pending(area(), id(), path(name), 0640, O_WRONLY);
    if (file == nullptr) {
      return false;
    }
    const bool room = make_room(area(), *file, text.size());
    if (room) {
      std::memcpy(area().at<char>(file->data), text.data(), text.size());
      file->length = text.size();
    }
    file->state = Pending::closed;
    let_go(file->lock);
    return room;
  }

  // "all of it", of which somebody made "all of" and was killed then.
  void begin(const std::string& name, mode_t mode = 0640) {
    ASSERT_TRUE(make(name, "all of it"));
    std::ofstream(path(name)) << "all of";
    struct stat found {};
    ASSERT_EQ(stat(path(name).c_str(), &found), 0);
    Pending* file = find_pending(area(), id(), name);
    ASSERT_NE(file, nullptr);
    file->begun = 1;
    file->own_device = found.st_dev;
    file->own_inode = found.st_ino;
    file->mode = mode;
    let_go(file->lock);
  }

  SharedArea* shared_ = nullptr;
  std::string folder_;
};

TEST_F(Landing, PutsFilesDownAsTheyWereMade) {
  ASSERT_TRUE(make("a", "first"));
  ASSERT_TRUE(make("b", ""));
  EXPECT_FALSE(make("a", "again")) << "there is one of that name";
  EXPECT_TRUE(is_pending_left(area()));
  EXPECT_EQ(list_pending(area()).size(), 2U);
  const std::vector<Recovered> done = Lander(area()).land(Lander::Which::all, true);
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].outcome, Recovered::Outcome::made);
  EXPECT_EQ(*read_file(path("a")), "first");
  struct stat found {};
  ASSERT_EQ(stat(path("b").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0640U);
  EXPECT_FALSE(is_pending_left(area()));
  EXPECT_EQ(area().pending_live, 0U);
}

TEST_F(Landing, NeverWritesOverWhatIsThere) {
  ASSERT_TRUE(make("a", "ours"));
  std::ofstream(path("a")) << "theirs";
  const std::vector<Recovered> done = Lander(area()).land(Lander::Which::all, false);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].outcome, Recovered::Outcome::beside);
  EXPECT_EQ(*read_file(path("a")), "theirs");
  EXPECT_EQ(*read_file(path("a.sluice-recovered")), "ours");
}

// Whoever was killed while it opened one was never told that there is any.
TEST_F(Landing, WhatNobodyGotToOpenLeavesNothing) {
  Pending* file = add_pending(area(), id(), path("a"), 0640, O_WRONLY);
  ASSERT_NE(file, nullptr);
  let_go(file->lock);
  EXPECT_FALSE(is_pending_left(area()));
  EXPECT_TRUE(Lander(area()).land(Lander::Which::all, true).empty());
  EXPECT_FALSE(std::filesystem::exists(path("a")));
  EXPECT_EQ(find_pending(area(), id(), "a"), nullptr);
  EXPECT_EQ(area().pending_live, 0U);
}

// Whoever was killed in the middle left its beginning.
TEST_F(Landing, FinishesWhatSomebodyBegan) {
  begin("a");
  EXPECT_TRUE(Lander(area()).land(Lander::Which::all, false).empty());
  EXPECT_EQ(*read_file(path("a")), "all of it");
}

// But not in another file that somebody made there since.
TEST_F(Landing, FinishesNothingThatIsAnothers) {
  begin("a");
  ASSERT_EQ(rename(path("a").c_str(), path("b").c_str()), 0);
  std::ofstream(path("a")) << "all";
  const std::vector<Recovered> done = Lander(area()).land(Lander::Which::all, false);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].outcome, Recovered::Outcome::beside);
  EXPECT_EQ(*read_file(path("a")), "all");
  EXPECT_EQ(*read_file(path("a.sluice-recovered")), "all of it");
}

// Also where its mode says that nobody may write to it, which stops its owner, but not the superuser.
TEST_F(Landing, FinishesWhatIsReadOnly) {
  begin("a", 0444);
  ASSERT_EQ(chmod(path("a").c_str(), 0444), 0);
  const bool root = has_rights_of_root();
  const uid_t other = 65534;
  if (root) {
    ASSERT_EQ(chown(folder_.c_str(), other, static_cast<gid_t>(-1)), 0);
    ASSERT_EQ(chown(path("a").c_str(), other, static_cast<gid_t>(-1)), 0);
    ASSERT_EQ(seteuid(other), 0);
  }
  const std::vector<Recovered> done = Lander(area()).land(Lander::Which::all, false);
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  EXPECT_TRUE(done.empty());
  EXPECT_EQ(*read_file(path("a")), "all of it");
  struct stat found {};
  ASSERT_EQ(stat(path("a").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0444U);
}

TEST_F(Landing, MemoryIsFreeAgainWhenAllIsDown) {
  Lander lander(area());
  std::size_t refused = 0;
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 100; ++j) {
      refused += make(std::to_string(i * 100 + j), std::string(20000, 'x')) ? 0U : 1U;
    }
    EXPECT_TRUE(lander.land(Lander::Which::all, false).empty());
    EXPECT_LE(area().pending_blocks, 1U);
  }
  EXPECT_EQ(refused, 0U);
  // More than there is memory for is refused, and what was taken is not lost.
  std::size_t made = 0;
  while (made < 1000 && make("many" + std::to_string(made), std::string(20000, 'y'))) {
    ++made;
  }
  EXPECT_GT(made, 100U);
  EXPECT_LT(made, 1000U);
  EXPECT_EQ(area().pending_hurry, 1U);
  EXPECT_TRUE(lander.land(Lander::Which::all, false).empty());
}

TEST_F(Landing, ManyThreadsAtOnce) {
  std::atomic<bool> stop = false;
  Lander lander(area());
  std::jthread landing([&] {
    while (!stop) {
      lander.land(Lander::Which::closed, false);
    }
  });
  std::atomic<int> made = 0;
  {
    std::vector<std::jthread> makers;
    for (int thread = 0; thread < 4; ++thread) {
      makers.emplace_back([&, thread] {
        for (int i = 0; i < 300; ++i) {
          // Each name is wanted by two, and one gets it as long as it is pending.
          const std::string name = std::to_string(thread / 2) + "-" + std::to_string(i);
          made += make(name, std::string(static_cast<std::size_t>(1 + i * 7), 'x')) ? 1 : 0;
          if (Pending* found = find_pending(area(), id(), name); found != nullptr) {
            let_go(found->lock);
          }
        }
      });
    }
  }
  stop = true;
  landing.join();
  lander.land(Lander::Which::all, false);
  EXPECT_GE(made, 600);
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(std::filesystem::file_size(path("1-" + std::to_string(i))),
              static_cast<std::uintmax_t>(1 + i * 7));
  }
}

TEST_F(Landing, AFolderThatIsGoneTakesItsFilesWithIt) {
  ASSERT_TRUE(make("a", "lost"));
  Lander lander(area());
  lander.know(UniqueFd(open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
  std::filesystem::remove(folder_);
  std::filesystem::create_directory(folder_);
  const std::vector<Recovered> done = lander.land(Lander::Which::all, false);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].outcome, Recovered::Outcome::dropped);
  EXPECT_FALSE(is_pending_left(area()));
  EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "that is another folder";
}

// When everybody was killed, nobody has it open.
TEST_F(Landing, AFolderThatWasRenamedGetsItsFiles) {
  ASSERT_TRUE(make("a", "ours"));
  const std::string moved = folder_ + "-moved";
  std::filesystem::rename(folder_, moved);
  std::filesystem::create_directory(folder_);
  EXPECT_TRUE(Lander(area()).land(Lander::Which::all, false).empty());
  EXPECT_EQ(*read_file(moved + "/a"), "ours");
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  std::filesystem::remove_all(moved);
}

TEST_F(Landing, AFolderThatIsNotFoundLeavesItsFilesBesideIt) {
  ASSERT_TRUE(make("a", "ours"));
  ASSERT_TRUE(make("b", "too"));
  // Elsewhere, and another is there by now, which may even have its number.
  const std::string elsewhere = folder_ + "-elsewhere";
  std::filesystem::create_directory(elsewhere);
  std::filesystem::rename(folder_, elsewhere + "/moved");
  std::filesystem::create_directory(folder_);
  const std::vector<Recovered> done = Lander(area()).land(Lander::Which::all, false);
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].outcome, Recovered::Outcome::beside);
  EXPECT_EQ(done[0].put, folder_ + ".sluice-recovered/a");
  EXPECT_EQ(*read_file(done[0].put), "ours");
  EXPECT_EQ(*read_file(folder_ + ".sluice-recovered/b"), "too");
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  EXPECT_FALSE(is_pending_left(area()));
  std::filesystem::remove_all(elsewhere);
  std::filesystem::remove_all(folder_ + ".sluice-recovered");
}

// Another folder that got its number is known by its handle.
TEST_F(Landing, AnotherFolderOfTheSameNumberIsNotTaken) {
  ASSERT_TRUE(make("a", "ours"));
  Pending* file = find_pending(area(), id(), "a");
  ASSERT_NE(file, nullptr);
  const UniqueFd folder(open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  int mount = -1;
  const std::uint64_t print = print_of(handle_of(folder.get(), mount));
  if (print == 0) {
    GTEST_SKIP() << "no handles here";
  }
  file->folder_print = print;
  EXPECT_TRUE(is_folder_of(*file, folder.get()));
  file->folder_print = print + 2;
  EXPECT_FALSE(is_folder_of(*file, folder.get()));
  let_go(file->lock);
  ASSERT_EQ(Lander(area()).land(Lander::Which::all, false).size(), 1U);
  EXPECT_EQ(*read_file(folder_ + ".sluice-recovered/a"), "ours");
  std::filesystem::remove_all(folder_ + ".sluice-recovered");
}

// A file system that is not mounted now may be again.
TEST_F(Landing, FilesOfAnotherFileSystemWait) {
  ASSERT_TRUE(make("a", "ours"));
  Pending* file = find_pending(area(), id(), "a");
  ASSERT_NE(file, nullptr);
  ++file->device;
  let_go(file->lock);
  const std::vector<Recovered> done = Lander(area()).land(Lander::Which::all, false);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].outcome, Recovered::Outcome::failed);
  EXPECT_TRUE(is_pending_left(area()));
}

}  // namespace
}  // namespace sluice

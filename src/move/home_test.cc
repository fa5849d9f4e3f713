#include "move/home.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace sluice {
namespace {

// A folder that is removed in the end.
struct Folder {
  explicit Folder(const char* above) : path(std::string(above) + "/sluice-home-XXXXXX") {
    if (mkdtemp(path.data()) == nullptr) {
      path.clear();
    }
  }
  ~Folder() {
    if (!path.empty()) {
      std::filesystem::remove_all(path);
    }
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path;
};

// A file that is elsewhere, on another file system where these are two.
class Home : public testing::Test {
 protected:
  void SetUp() override {
    if (there_.path.empty() || here_.path.empty()) {
      GTEST_SKIP() << "no two places";
    }
    std::ofstream(data()) << "text";
    ASSERT_EQ(chmod(data().c_str(), 0600), 0);
    ASSERT_EQ(symlink(data().c_str(), link().c_str()), 0);
  }
  [[nodiscard]] std::string data() const { return there_.path + "/data"; }
  [[nodiscard]] std::string link() const { return here_.path + "/link"; }
  Result<Moved> bring(const std::function<bool()>& may_commit, bool sync = false) {
    return move_home(data(), link(), sync, Lease::Against::everybody, landing_,
                     {.begin = may_commit, .take_back = [] {}});
  }
  [[nodiscard]] std::string text() const {
    std::ifstream file(link());
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const Folder there_{"/dev/shm"};
  const Folder here_{std::filesystem::temp_directory_path().c_str()};
  Landing landing_;
};

// A mode that somebody gives to the file when it was copied already is its mode at home.
TEST_F(Home, WhatIsSaidOfItLastCounts) {
  const auto moved = bring([&] { return chmod(data().c_str(), 0640) == 0; });
  ASSERT_TRUE(moved);
  EXPECT_EQ(*moved, Moved::done);
  struct stat found {};
  ASSERT_EQ(lstat(link().c_str(), &found), 0);
  EXPECT_TRUE(S_ISREG(found.st_mode));
  EXPECT_EQ(found.st_mode & 0777U, 0640U);
  EXPECT_FALSE(std::filesystem::exists(data()));
}

TEST_F(Home, WhatSomebodyPutsInTheLinksPlaceStays) {
  const auto moved = bring([&] {
    std::ofstream(here_.path + "/new") << "new";
    return rename((here_.path + "/new").c_str(), link().c_str()) == 0;
  });
  ASSERT_TRUE(moved);
  EXPECT_EQ(*moved, Moved::kept);
  EXPECT_EQ(text(), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(here_.path), {}), 1);
  EXPECT_TRUE(std::filesystem::exists(data()));
}

TEST_F(Home, WhatSomebodyPutsInTheDatasPlaceIsTheFile) {
  const auto moved = bring([&] {
    std::ofstream(there_.path + "/new") << "new";
    return rename((there_.path + "/new").c_str(), data().c_str()) == 0;
  });
  ASSERT_TRUE(moved);
  EXPECT_EQ(*moved, Moved::busy);
  EXPECT_EQ(text(), "new");
  const auto again = bring([] { return true; });
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, Moved::done);
  EXPECT_EQ(text(), "new");
  EXPECT_TRUE(std::filesystem::is_empty(there_.path));
}

// Whoever brought it home was killed, and the program has removed it since.
TEST_F(Home, ACopyOfWhatIsGoneIsRemovedAndNobodyElsesFile) {
  const std::string copy = here_.path + "/.file.sluice-000000ab";
  struct stat found {};
  std::ofstream(copy) << "te";
  ASSERT_EQ(stat(copy.c_str(), &found), 0);
  Landing landing;
  landing.device = found.st_dev;
  landing.inode = found.st_ino + 1;
  landing.temporary = 0xab;
  remove_left(data(), here_.path + "/file", landing);
  EXPECT_TRUE(std::filesystem::exists(copy));
  EXPECT_EQ(landing.temporary, 0xabU);
  landing.inode = found.st_ino;
  remove_left(data(), here_.path + "/file", landing);
  EXPECT_FALSE(std::filesystem::exists(copy));
  EXPECT_EQ(landing.temporary, 0U);
}

TEST_F(Home, WhoReadsItKeepsItThere) {
  const int fd = open(data().c_str(), O_RDONLY | O_CLOEXEC);
  const auto busy = bring([] { return true; });
  ASSERT_TRUE(busy);
  EXPECT_EQ(*busy, Moved::busy);
  close(fd);
  int later = -1;  // one that comes when it was copied already
  const auto moved = bring([&] { return (later = open(data().c_str(), O_RDONLY | O_CLOEXEC)) >= 0; });
  ASSERT_TRUE(moved);
  EXPECT_EQ(*moved, Moved::busy);
  EXPECT_EQ(text(), "text");
  close(later);
}

// Whoever lists the folder, or removes it, comes upon nothing but the file.
TEST_F(Home, ACopyHasNoNameUntilItIsWhole) {
  const auto moved = bring([&] {
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(here_.path), {}), 1);
    return false;
  });
  ASSERT_TRUE(moved);
  EXPECT_EQ(*moved, Moved::kept);
  EXPECT_EQ(landing_.temporary, 0U);
}

// Calls of fsync, and of those that fail for folders.
std::size_t syncs = 0;
bool refuses_folders = false;
int count_sync(int fd) {
  struct stat found {};
  ++syncs;
  if (refuses_folders && fstat(fd, &found) == 0 && S_ISDIR(found.st_mode)) {
    errno = EIO;
    return -1;
  }
  return real_sys().fsync(fd);
}

// Data on storage that keeps it, and its home in memory.
class Safe : public testing::Test {
 protected:
  void SetUp() override {
    if (there_.path.empty() || here_.path.empty() || is_in_memory(there_.path)) {
      GTEST_SKIP() << "no two places";
    }
    std::ofstream(data()) << "text";
    ASSERT_EQ(symlink(data().c_str(), link().c_str()), 0);
    syncs = 0;
    refuses_folders = false;
    counting_.fsync = count_sync;
  }
  [[nodiscard]] std::string data() const { return there_.path + "/data"; }
  [[nodiscard]] std::string link() const { return here_.path + "/link"; }
  Result<Moved> bring() {
    const ScopedSys counted(counting_);
    return move_home(data(), link(), false, Lease::Against::everybody, landing_,
                     {.begin = [] { return true; }, .take_back = [] {}});
  }

  const Folder there_{std::filesystem::temp_directory_path().c_str()};
  const Folder here_{"/dev/shm"};
  Landing landing_;
  Sys counting_ = real_sys();
};

// Nobody knows whether the program was told that it is safe: by O_SYNC, another descriptor, or sync().
TEST_F(Safe, ItIsSafeAtHomeBeforeTheOtherCopyGoes) {
  const auto moved = bring();
  ASSERT_TRUE(moved);
  EXPECT_EQ(*moved, Moved::done);
  EXPECT_GE(syncs, 2U);
}

TEST_F(Safe, AFolderThatCannotBeSyncedKeepsItThere) {
  refuses_folders = true;
  EXPECT_FALSE(bring());
  EXPECT_TRUE(std::filesystem::exists(data()));
  EXPECT_TRUE(std::filesystem::is_symlink(link()));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(here_.path), {}), 1);
  EXPECT_EQ(landing_.landed, 0U);
}

TEST_F(Home, NobodyWaitsForASyncOfWhatWasInMemory) {
  syncs = 0;
  Sys counting = real_sys();
  counting.fsync = count_sync;
  const ScopedSys counted(counting);
  const auto moved = bring([] { return true; });
  ASSERT_TRUE(moved);
  EXPECT_EQ(*moved, Moved::done);
  EXPECT_EQ(syncs, 0U);
}

// As if whoever brought it home was killed, and the program has done something with the file since.
class Ending : public Home {
 protected:
  void SetUp() override {
    Home::SetUp();
    struct stat found {};
    ASSERT_EQ(stat(data().c_str(), &found), 0);
    landing_.device = 1;
    landing_.inode = 1;
    landing_.changed = std::int64_t{found.st_ctim.tv_sec} * 1000000000 + found.st_ctim.tv_nsec;
    ASSERT_EQ(unlink(link().c_str()), 0);
  }
};

TEST_F(Ending, DataOfAFileThatWasInItsPlaceGoes) {
  landing_.landed = 1;
  EXPECT_EQ(*end_landing(data(), link(), landing_), Moved::done);
  EXPECT_FALSE(std::filesystem::exists(data()));
}

TEST_F(Ending, DataThatWasChangedSinceStays) {
  landing_.landed = 1;
  landing_.changed -= 1;
  EXPECT_EQ(*end_landing(data(), link(), landing_), Moved::kept);
  EXPECT_TRUE(std::filesystem::exists(data()));
}

TEST_F(Ending, TheLinkBesideItTellsThatItWasInItsPlace) {
  landing_.temporary = 0xabcdef01;
  ASSERT_EQ(symlink(data().c_str(), (here_.path + "/.before.sluice-abcdef01").c_str()), 0);
  EXPECT_EQ(*end_landing(data(), link(), landing_), Moved::done);
  EXPECT_TRUE(std::filesystem::is_empty(here_.path));
}

TEST_F(Ending, ACopyUnderTheNameThatItHadIsRemoved) {
  landing_.inode = 0;
  landing_.temporary = 0xabcdef01;
  std::ofstream(here_.path + "/.before.sluice-abcdef01") << "te";
  EXPECT_EQ(*end_landing(data(), link(), landing_), Moved::kept);
  EXPECT_TRUE(std::filesystem::is_empty(here_.path));
  EXPECT_TRUE(std::filesystem::exists(data()));
}

TEST_F(Ending, DataThatIsALinkToItselfIsNone) {
  ASSERT_EQ(unlink(data().c_str()), 0);
  ASSERT_EQ(symlink(data().c_str(), data().c_str()), 0);
  EXPECT_EQ(*end_landing(data(), link(), landing_), Moved::done);
  EXPECT_TRUE(std::filesystem::is_empty(there_.path));
}

}  // namespace
}  // namespace sluice

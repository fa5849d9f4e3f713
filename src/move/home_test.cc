#include "move/home.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

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
  Result<Moved> bring(const std::function<bool()>& may_commit) {
    return move_home(data(), link(), false, Lease::Against::everybody, landing_, may_commit);
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

}  // namespace
}  // namespace sluice

#include "move/home.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

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

// A mode that somebody gives to the file when it was copied already is its mode at home.
TEST(Home, WhatIsSaidOfItLastCounts) {
  const Folder there("/dev/shm");
  const Folder here(std::filesystem::temp_directory_path().c_str());
  if (there.path.empty() || here.path.empty()) {
    GTEST_SKIP() << "no two places";
  }
  const std::string data = there.path + "/data";
  const std::string link = here.path + "/link";
  std::ofstream(data) << "text";
  ASSERT_EQ(chmod(data.c_str(), 0600), 0);
  ASSERT_EQ(symlink(data.c_str(), link.c_str()), 0);
  Landing landing;
  const auto moved = move_home(data, link, false, Lease::Against::everybody, landing,
                               [&] { return chmod(data.c_str(), 0640) == 0; });
  ASSERT_TRUE(moved);
  EXPECT_EQ(*moved, Moved::done);
  struct stat found {};
  ASSERT_EQ(lstat(link.c_str(), &found), 0);
  EXPECT_TRUE(S_ISREG(found.st_mode));
  EXPECT_EQ(found.st_mode & 0777U, 0640U);
  EXPECT_FALSE(std::filesystem::exists(data));
}

}  // namespace
}  // namespace sluice

#include "run/own_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sluice {
namespace {

class OwnFolderTest : public testing::Test {
 protected:
  OwnFolderTest() {
    std::string pattern = testing::TempDir() + "/own-XXXXXX";
    place_ = mkdtemp(pattern.data());
    path_ = place_ + "/" + own_folder_name();
  }
  ~OwnFolderTest() override { std::filesystem::remove_all(place_); }
  OwnFolderTest(const OwnFolderTest&) = delete;
  OwnFolderTest& operator=(const OwnFolderTest&) = delete;

  std::string place_;
  std::string path_;
};

TEST_F(OwnFolderTest, IsOursAloneAndGoesWhenEmpty) {
  {
    const auto folder = OwnFolder::make(path_);
    ASSERT_TRUE(folder) << folder.error().text();
    struct stat found {};
    ASSERT_EQ(lstat(path_.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode, mode_t{S_IFDIR | 0700});
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(OwnFolderTest, StaysWithWhatIsInIt) {
  {
    const auto folder = OwnFolder::make(path_);
    ASSERT_TRUE(folder);
    std::ofstream(path_ + "/data") << "text";
  }
  EXPECT_TRUE(std::filesystem::exists(path_ + "/data"));
  std::filesystem::remove(path_ + "/data");
  remove_own_folder(path_);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(OwnFolderTest, NothingThatIsThereAlreadyIsTaken) {
  std::filesystem::create_directory_symlink("/", path_);
  EXPECT_FALSE(OwnFolder::make(path_));
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
}

TEST_F(OwnFolderTest, NotWhereOthersMayRenameIt) {
  for (const mode_t open_to_others : {mode_t{0770}, mode_t{0707}}) {
    ASSERT_EQ(chmod(place_.c_str(), open_to_others), 0);
    EXPECT_FALSE(OwnFolder::make(path_));
  }
  ASSERT_EQ(chmod(place_.c_str(), 01777), 0);
  EXPECT_TRUE(OwnFolder::make(path_));
}

TEST_F(OwnFolderTest, OtherFoldersAreNotRemoved) {
  remove_own_folder(place_);
  EXPECT_TRUE(std::filesystem::exists(place_));
}

}  // namespace
}  // namespace sluice

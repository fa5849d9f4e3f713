#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/sys.h"

namespace sluice {
namespace {

class Files : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "sluice-files-XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(Files, AreReplacedWholly) {
  const std::string path = folder_ + "/odd \n\xff name";
  ASSERT_TRUE(write_file(path, "one"));
  ASSERT_TRUE(write_file(path, std::string(100000, 'x')));
  EXPECT_EQ(read_file(path)->size(), 100000U);
  EXPECT_EQ(list_folder(folder_)->size(), 1U);
  EXPECT_EQ(read_file(path, 10).error().number, EFBIG);
  EXPECT_EQ(read_file(folder_ + "/none").error().number, ENOENT);
}

// Whatever call fails, the file holds the old or the new content and no temporary file stays.
TEST_F(Files, StayWholeWhenAnySystemCallFails) {
  const std::string path = folder_ + "/file";
  std::size_t calls = 0;
  {
    const FailNth none(0, 0);
    ASSERT_TRUE(write_file(path, "old"));
    calls = none.calls();
  }
  ASSERT_GE(calls, 5U);
  for (std::size_t n = 1; n <= calls; ++n) {
    ASSERT_TRUE(write_file(path, "old"));
    Status status;
    {
      const FailNth one(n, ENOSPC);
      status = write_file(path, "new");
    }
    const std::string content = *read_file(path);
    EXPECT_TRUE(content == "old" || content == "new");
    if (status) {
      EXPECT_EQ(content, "new") << n;  // what was acknowledged is there
    } else {
      EXPECT_EQ(status.error().number, ENOSPC) << n;
      EXPECT_FALSE(status.error().what.empty());
    }
    EXPECT_EQ(list_folder(folder_)->size(), 1U) << n;
  }
}

TEST_F(Files, FoldersAreMadeAndListed) {
  ASSERT_TRUE(make_folders(folder_ + "/a/b/c"));
  ASSERT_TRUE(make_folders(folder_ + "/a/b/c"));
  struct stat info {};
  ASSERT_EQ(stat((folder_ + "/a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  ASSERT_TRUE(write_file(folder_ + "/file", ""));
  EXPECT_EQ(make_folders(folder_ + "/file/x").error().number, ENOTDIR);
  EXPECT_EQ(list_folder(folder_ + "/file").error().number, ENOTDIR);
}

TEST_F(Files, AbsoluteGoesUpFromWhereALinkLeadsTo) {
  ASSERT_TRUE(make_folders(folder_ + "/real/sub"));
  ASSERT_EQ(symlink((folder_ + "/real/sub").c_str(), (folder_ + "/link").c_str()), 0);
  ASSERT_EQ(symlink("nowhere", (folder_ + "/broken").c_str()), 0);
  const std::string real = std::filesystem::canonical(folder_ + "/real").string();
  EXPECT_EQ(absolute("link/../x", folder_), real + "/x");
  EXPECT_EQ(absolute("link/./..", folder_), real);
  EXPECT_EQ(absolute("link/../sub/../x", folder_), real + "/x");
  EXPECT_EQ(absolute("link/x/../y", folder_), folder_ + "/link/y");
  EXPECT_EQ(absolute("broken/../x", folder_), folder_ + "/x");
}

TEST(Absolute, IsTextWhereThereIsNoLink) {
  EXPECT_EQ(absolute("a/../b/./c", "/x"), "/x/b/c");
  EXPECT_EQ(absolute("/a//b/", "/x"), "/a/b");
  EXPECT_EQ(absolute("..", "/x/y"), "/x");
  EXPECT_EQ(absolute(".", "/x"), "/x");
  EXPECT_EQ(absolute("/", "/x"), "/");
}

TEST(Errors, KeepNumberContextAndOrigin) {
  const auto result = read_file("/nonexistent/file");
  ASSERT_FALSE(result);
  const Error error = Error(result.error()).within("rules").advise("look again");
  EXPECT_EQ(error.number, ENOENT);
  EXPECT_EQ(error.text(), "rules: cannot open '/nonexistent/file': No such file or directory; look again");
  EXPECT_EQ(error.origin_text().substr(0, 9), "files.cc:");
}

}  // namespace
}  // namespace sluice

#include "move/tree.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "move/checksum.h"

namespace sluice {
namespace {

bool always(std::uint64_t /*bytes*/) {
  return true;
}

class Trees : public testing::Test {
 protected:
  Trees() {
    std::string folder = testing::TempDir() + "sluice_tree_XXXXXX";
    root_ = mkdtemp(folder.data());
    fd_ = UniqueFd(open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~Trees() override { std::filesystem::remove_all(root_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(root_ + "/" + name, std::ios::binary) << text;
  }
  [[nodiscard]] UniqueFd file(const std::string& name, int flags = O_RDONLY) const {
    return UniqueFd(openat(fd_.get(), name.c_str(), flags | O_CLOEXEC));
  }
  Result<Tree> look(const std::string& name) { return look_at_tree(fd_.get(), name, name, true); }
  Status copy(const std::string& from, const std::string& to, const GoOn& go_on = always) {
    SLUICE_TRY(const Tree tree, look(from));
    const LeaseSignals untold;
    TreeCopy copy(go_on);
    return copy.run(tree, fd_.get(), from, fd_.get(), to);
  }

  std::string root_;
  UniqueFd fd_;
};

TEST_F(Trees, ChecksumsTellContentsAndNotHoles) {
  write("zeros", std::string(200'000, '\0'));
  write("hole", "");
  ASSERT_EQ(truncate((root_ + "/hole").c_str(), 200'000), 0);
  write("other", std::string(199'999, '\0') + "x");
  write("longer", std::string(200'001, '\0'));
  const std::string zeros = checksum_of(file("zeros").get(), always).value();
  EXPECT_THAT(zeros, testing::StartsWith("xxh3:"));
  EXPECT_EQ(checksum_of(file("hole").get(), always).value(), zeros);
  EXPECT_NE(checksum_of(file("other").get(), always).value(), zeros);
  EXPECT_NE(checksum_of(file("longer").get(), always).value(), zeros);
  EXPECT_EQ(checksum_of(file("other").get(), [](std::uint64_t) { return false; }).error().number, ECANCELED);
}

TEST_F(Trees, AFolderIsCopiedWhole) {
  std::filesystem::create_directories(root_ + "/a/b/c");
  write("a/b/one", "text");
  std::filesystem::create_hard_link(root_ + "/a/b/one", root_ + "/a/two");
  std::filesystem::create_symlink("b/one", root_ + "/a/link");
  ASSERT_EQ(chmod((root_ + "/a/b/c").c_str(), 0500), 0);
  ASSERT_TRUE(copy("a", "copy"));
  EXPECT_EQ(read_file(root_ + "/copy/link").value(), "text");
  struct stat one {};
  struct stat two {};
  ASSERT_EQ(stat((root_ + "/copy/b/one").c_str(), &one), 0);
  ASSERT_EQ(stat((root_ + "/copy/two").c_str(), &two), 0);
  EXPECT_EQ(one.st_ino, two.st_ino);
  EXPECT_EQ(look("copy")->size, look("a")->size);
  EXPECT_EQ(look("copy")->room, 4U);
  ASSERT_TRUE(remove_tree(fd_.get(), "copy"));
  EXPECT_FALSE(std::filesystem::exists(root_ + "/copy"));
  EXPECT_TRUE(remove_tree(fd_.get(), "copy"));
}

TEST_F(Trees, WhatCannotBeMovedIsRefused) {
  std::filesystem::create_directory(root_ + "/a");
  ASSERT_EQ(mkfifo((root_ + "/a/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(look("a"));
  std::filesystem::remove(root_ + "/a/pipe");
  write("a/file", "x");
  EXPECT_TRUE(look("a"));
  std::filesystem::create_hard_link(root_ + "/a/file", root_ + "/outside");
  EXPECT_FALSE(look("a"));
  EXPECT_TRUE(look_at_tree(fd_.get(), "a", "a", false));
}

TEST_F(Trees, ChangesAreSeen) {
  std::filesystem::create_directory(root_ + "/a");
  write("a/file", "x");
  const Tree before = look("a").value();
  EXPECT_TRUE(is_unchanged(before, look("a").value()));
  std::filesystem::rename(root_ + "/a", root_ + "/b");
  EXPECT_TRUE(is_unchanged(before, look("b").value()));
  write("b/new", "");
  EXPECT_FALSE(is_unchanged(before, look("b").value()));
}

TEST_F(Trees, WhoHasItOpenIsInTheWay) {
  write("file", "x");
  {
    const UniqueFd reader = file("file");
    EXPECT_EQ(copy("file", "copy").error().number, EBUSY);
  }
  {
    const UniqueFd writer = file("file", O_WRONLY);
    EXPECT_EQ(copy("file", "copy").error().number, EBUSY);
  }
  EXPECT_TRUE(copy("file", "copy"));
  EXPECT_EQ(read_file(root_ + "/copy").value(), "x");
}

TEST_F(Trees, AWriterIsNoticed) {
  write("file", std::string(3 << 20, 'x'));
  const LeaseSignals untold;
  TreeCopy work(always);
  const Tree tree = look("file").value();
  ASSERT_TRUE(work.run(tree, fd_.get(), "file", fd_.get(), "copy"));
  EXPECT_TRUE(work.undisturbed());
  EXPECT_FALSE(file("file", O_WRONLY | O_NONBLOCK));  // it would wait for us
  EXPECT_FALSE(work.undisturbed());
}

TEST_F(Trees, ACopyCanBeStopped) {
  write("file", std::string(3 << 20, 'x'));
  int pieces = 0;
  const Status stopped =
      copy("file", "copy", [&](std::uint64_t bytes) { return bytes == 0 || ++pieces < 2; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().number, ECANCELED);
}

}  // namespace
}  // namespace sluice

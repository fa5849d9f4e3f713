#include "move/tree.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/test_root.h"
#include "move/checksum.h"

namespace {

long filesystem = 0;  // what every file is on, 0 = what it is on

}  // namespace

// In place of libc's.
extern "C" int fstatfs(int fd, struct statfs* out) noexcept {
  const auto done = static_cast<int>(syscall(SYS_fstatfs, fd, out));
  out->f_type = filesystem != 0 ? filesystem : out->f_type;
  return done;
}

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
    SLUICE_TRY(Tree tree, look(from));
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

// A limit makes go_on wait as long as the bytes take, and whoever wants to write waits for it.
TEST_F(Trees, NobodyWaitsForMoreThanASliceOfACopy) {
  write("file", std::string(3'000'000, 'x'));
  std::vector<std::uint64_t> asked;
  EXPECT_EQ(copy("file", "copy",
                 [&](std::uint64_t bytes) {
                   if (bytes > 0) {
                     asked.push_back(bytes);
                   }
                   if (asked.size() == 3) {
                     EXPECT_FALSE(file("file", O_WRONLY | O_NONBLOCK));
                   }
                   return true;
                 })
                .error()
                .number,
            ECANCELED);
  EXPECT_THAT(asked, testing::SizeIs(3));
  EXPECT_THAT(asked, testing::Each(testing::Le(65536U)));
}

// A server that has not delegated a file refuses the lease, whoever has it open.
TEST_F(Trees, WhereTheServerGivesNoLeasesAFileIsNotBusy) {
  write("file", "text");
  const UniqueFd ours = file("file");
  const UniqueFd another = file("file");
  for (const auto& [magic, busy] : {std::pair{0L, true}, {0x6969L, false}, {0xff534d42L, false}}) {
    filesystem = magic;
    const Lease lease(ours.get(), Lease::Against::everybody);
    EXPECT_EQ(lease.busy(), busy) << magic;
    EXPECT_FALSE(lease.held());
  }
  EXPECT_TRUE(copy("file", "copy"));
  filesystem = 0;
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
  // Also those of the uppermost, whose time of change does not count.
  write("file", "x");
  const Tree file = look("file").value();
  EXPECT_TRUE(is_unchanged(file, look("file").value()));
  if (setxattr((root_ + "/file").c_str(), "user.note", "1", 1, 0) == 0) {
    EXPECT_FALSE(is_unchanged(file, look("file").value()));
  }
  if (has_rights_of_root()) {
    const Tree owned = look("file").value();
    ASSERT_EQ(chown((root_ + "/file").c_str(), 12, 34), 0);
    EXPECT_FALSE(is_unchanged(owned, look("file").value()));
  }
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
  Tree tree = look("file").value();
  ASSERT_TRUE(work.run(tree, fd_.get(), "file", fd_.get(), "copy"));
  EXPECT_TRUE(work.undisturbed());
  EXPECT_FALSE(file("file", O_WRONLY | O_NONBLOCK));  // it would wait for us
  EXPECT_FALSE(work.undisturbed());
}

// And at once: the rest of a folder is not copied for nothing.
TEST_F(Trees, AWriterInAFolderIsNoticedAtOnce) {
  std::filesystem::create_directory(root_ + "/a");
  for (const char* name : {"a/1", "a/2", "a/3"}) {
    write(name, "x");
  }
  const Status stopped = copy("a", "copy", [&](std::uint64_t) {
    if (file("copy/2")) {
      EXPECT_FALSE(file("a/1", O_WRONLY | O_NONBLOCK));
    }
    return true;
  });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().number, ECANCELED);
  EXPECT_FALSE(file("copy/3"));
}

TEST_F(Trees, OnlyWhatWasCopiedIsRemoved) {
  std::filesystem::create_directories(root_ + "/a/b/c");
  std::filesystem::create_directory(root_ + "/a/d");
  for (const char* name : {"a/b/same", "a/b/c/longer", "a/b/c/opened", "a/d/same"}) {
    write(name, "x");
  }
  std::filesystem::create_hard_link(root_ + "/a/b/same", root_ + "/a/d/other");
  const LeaseSignals untold;
  TreeCopy work(always);
  Tree tree = look("a").value();
  ASSERT_TRUE(work.run(tree, fd_.get(), "a", fd_.get(), "copy"));
  std::filesystem::rename(root_ + "/a", root_ + "/aside");
  EXPECT_TRUE(work.is_left(tree, fd_.get(), "aside"));
  EXPECT_FALSE(file("aside/b/c/longer", O_WRONLY | O_NONBLOCK));  // it would wait for us
  write("aside/b/new", "");
  EXPECT_FALSE(work.is_left(tree, fd_.get(), "aside"));
  EXPECT_FALSE(work.remove_source(tree, fd_.get(), "aside").value());
  std::vector<std::string> left;
  const Tree rest = look_at_tree(fd_.get(), "aside", "aside", false).value();
  for (const TreeEntry& entry : rest.entries) {
    left.push_back(entry.path);
  }
  EXPECT_THAT(left, testing::ElementsAre("", "b", "b/c", "b/c/longer", "b/new"));
}

TEST_F(Trees, AFolderThatMayNotBeWrittenIsRemovedAllTheSame) {
  std::filesystem::create_directories(root_ + "/a/b");
  write("a/b/file", "x");
  ASSERT_EQ(chmod((root_ + "/a/b").c_str(), 0500), 0);
  const LeaseSignals untold;
  TreeCopy work(always);
  Tree tree = look("a").value();
  ASSERT_TRUE(work.run(tree, fd_.get(), "a", fd_.get(), "copy"));
  EXPECT_TRUE(work.remove_source(tree, fd_.get(), "a").value());
  EXPECT_FALSE(std::filesystem::exists(root_ + "/a"));
  ASSERT_EQ(chmod((root_ + "/copy/b").c_str(), 0700), 0);  // so that it can be removed by who is not root
}

TEST_F(Trees, HowDeepItIsDoesNotMatter) {
  std::filesystem::create_directory(root_ + "/a");
  const std::string name(100, 'd');
  UniqueFd at = file("a");
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(mkdirat(at.get(), name.c_str(), 0700), 0);
    at = UniqueFd(openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  at = UniqueFd(openat(at.get(), "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  at = UniqueFd();
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{.rlim_cur = 64, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_EQ(look("a")->entries.size(), 202U);
  EXPECT_TRUE(copy("a", "copy"));
  EXPECT_EQ(look("copy")->entries.size(), 202U);
  EXPECT_TRUE(remove_tree(fd_.get(), "a"));
  EXPECT_TRUE(remove_tree(fd_.get(), "copy"));
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_FALSE(std::filesystem::exists(root_ + "/copy"));
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

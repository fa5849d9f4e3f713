#include "placing/back.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/files.h"
#include "catalog/sqlite.h"
#include "intent/parse.h"
#include "placing/place.h"

namespace {

// What happens at the very moment at which a name is changed, or a link is made or read.
std::function<void()> before_rename;
std::function<void()> before_link;
bool exchanges = true;  // as network file systems do not

}  // namespace

// In place of libc's.
extern "C" int renameat2(int from, const char* old_name, int to, const char* new_name,
                         unsigned flags) noexcept {
  if (!exchanges && (flags & RENAME_EXCHANGE) != 0) {
    errno = EINVAL;
    return -1;
  }
  // Marks in the folders of placed data are no names that anybody uses, and neither are those of a try.
  if (before_rename && std::strncmp(new_name, ".sluice-", 8) != 0 &&
      !std::string_view(new_name).ends_with("-")) {
    before_rename();
  }
  return static_cast<int>(syscall(SYS_renameat2, from, old_name, to, new_name, flags));
}
extern "C" int renameat(int from, const char* old_name, int to, const char* new_name) noexcept {
  return renameat2(from, old_name, to, new_name, 0);
}
extern "C" int symlinkat(const char* target, int folder, const char* name) noexcept {
  if (before_link && std::strncmp(name, ".path.", 6) == 0) {
    before_link();
  }
  return static_cast<int>(syscall(SYS_symlinkat, target, folder, name));
}
extern "C" ssize_t readlinkat(int folder, const char* name, char* out, std::size_t size) noexcept {
  if (before_link && std::strcmp(name, "path") == 0) {
    before_link();
  }
  return syscall(SYS_readlinkat, folder, name, out, size);
}

namespace sluice {
namespace {

// Somebody who is in a folder, and writes there when he is told to.
class Somebody {
 public:
  explicit Somebody(const std::string& folder) {
    std::array<int, 2> ready{};
    std::array<int, 2> told{};
    if (pipe(ready.data()) != 0 || pipe(told.data()) != 0) {
      return;
    }
    id_ = fork();
    if (id_ == 0) {
      dup2(told[0], STDIN_FILENO);
      dup2(ready[1], STDOUT_FILENO);
      close(told[1]);
      execl("/bin/sh", "sh", "-c", "cd \"$0\" && echo && read -r told && printf important >result",
            folder.c_str(), nullptr);
      _exit(2);
    }
    close(ready[1]);
    close(told[0]);
    char byte = 0;
    is_there_ = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    told_ = told[1];
  }
  Somebody(const Somebody&) = delete;
  Somebody& operator=(const Somebody&) = delete;
  ~Somebody() {
    if (id_ > 0) {
      write();
    }
  }

  [[nodiscard]] bool is_there() const { return is_there_; }
  // And he has gone. Whether it worked.
  bool write() {
    int status = -1;
    const bool asked = ::write(told_, "\n", 1) == 1;
    close(told_);
    waitpid(id_, &status, 0);
    id_ = -1;
    return asked && status == 0;
  }

 private:
  pid_t id_ = -1;
  int told_ = -1;
  bool is_there_ = false;
};

// A home and a faster place, two folders.
class Back : public testing::Test {
 protected:
  Back() {
    std::string folder = testing::TempDir() + "sluice_back_XXXXXX";
    root_ = std::filesystem::canonical(mkdtemp(folder.data())).string();
    path_ = root_ + "/home/path";
    catalog_ = std::move(*open_sqlite(root_ + "/c.db", Catalog::Mode::write));
    for (const std::string name : {"home", "fast"}) {
      std::filesystem::create_directory(root_ + "/" + name);
      Place place;
      place.name = name;
      place.id = "test:" + name;
      place.path = root_ + "/" + name;
      place.mount = place.path;
      place.volume = place.id;
      place.writable = true;
      place.free = {.value = std::uint64_t{1} << 30, .source = Source::system, .detail = ""};
      place.is_volatile = {.value = false, .source = Source::system, .detail = ""};
      place.read_bandwidth = {
          .value = name == "fast" ? 1e9 : 1e6, .source = Source::configuration, .detail = ""};
      place.write_bandwidth = place.read_bandwidth;
      found_.places.push_back(std::move(place));
    }
  }
  ~Back() override {
    before_rename = before_link = nullptr;
    exchanges = true;
    std::filesystem::remove_all(root_);
  }

  Result<Placed> put() {
    const Intent intent = placing_intent(found_, path_, *parse_intent("write"));
    return place_new(*catalog_, found_, make_plan(intent, found_.places), path_, false);
  }
  Result<Placed> move(const GoOn& go_on) {
    const Intent intent = placing_intent(found_, path_, *parse_intent("read"));
    return adopt(*catalog_, found_, make_plan(intent, found_.places), path_, go_on);
  }
  Result<Returned> bring(const GoOn& go_on = [](std::uint64_t) { return true; }) {
    return bring_back(
        *catalog_, path_, WithoutLink::restore, [&](const std::string&) { return place_is_there_; }, go_on);
  }
  void make_tree() const {
    std::filesystem::create_directories(path_ + "/inside");
    std::ofstream(path_ + "/inside/file") << "text";
  }
  // Names are changed for the n-th time.
  static void at_rename(int n, std::function<void()> what) {
    before_rename = [count = 0, n, what = std::move(what)]() mutable {
      if (++count == n) {
        what();
      }
    };
  }
  // Somebody comes to write while the row of the next step is written. He does not wait, but he is noticed.
  void write_before_names_change(const std::string& data, std::string_view state) {
    before_link = [this, data, state] {
      const auto row = catalog_->find_placement(path_);
      if (row && *row && (*row)->state == state && std::exchange(told_, true) == false) {
        EXPECT_EQ(open(data.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC), -1);
      }
    };
    before_rename = [this] { ++renames_; };
  }
  void rename_over() const {
    std::ofstream(root_ + "/home/new") << "new";
    std::filesystem::rename(root_ + "/home/new", path_);
  }

  std::string root_;
  std::string path_;
  std::unique_ptr<Catalog> catalog_;
  Discovery found_;
  bool place_is_there_ = true;
  bool told_ = false;
  int renames_ = 0;
};

TEST_F(Back, AFileThatTakesTheLinksPlaceKeepsIt) {
  ASSERT_TRUE(put());
  std::ofstream(path_) << "old";
  at_rename(1, [&] { rename_over(); });
  EXPECT_EQ(bring().error().number, ESTALE);
  EXPECT_EQ(read_file(path_).value(), "new");
  EXPECT_EQ(read_file(catalog_->find_placement(path_).value()->target).value(), "old");
  EXPECT_THAT(list_folder(root_ + "/home").value(), testing::ElementsAre("path"));
}

TEST_F(Back, SoItDoesWhereNothingWasCreated) {
  ASSERT_TRUE(put());
  at_rename(1, [&] { rename_over(); });
  EXPECT_EQ(bring()->outcome, Returned::Outcome::kept);
  EXPECT_EQ(read_file(path_).value(), "new");
  EXPECT_THAT(list_folder(root_ + "/home").value(), testing::ElementsAre("path"));
}

TEST_F(Back, WhatIsCreatedAtTheLastMomentComesHome) {
  ASSERT_TRUE(put());
  at_rename(1, [&] { std::ofstream(path_) << "late"; });
  EXPECT_EQ(bring()->outcome, Returned::Outcome::home);
  EXPECT_EQ(read_file(path_).value(), "late");
  EXPECT_TRUE(catalog_->placements().value().empty());
}

// What changes places for a moment only can be written to on both sides.
TEST_F(Back, NamesDoNotChangeForWhoeverCameBefore) {
  std::ofstream(path_) << "text";
  write_before_names_change(path_, "linking");
  const auto moved = move([](std::uint64_t) { return true; });
  ASSERT_TRUE(moved) << moved.error().text();
  EXPECT_TRUE(told_);
  EXPECT_EQ(renames_, 1);
  told_ = false;
  renames_ = 0;
  write_before_names_change(moved->target, "landing");
  ASSERT_TRUE(bring());
  EXPECT_TRUE(told_);
  EXPECT_EQ(renames_, 1);
  EXPECT_EQ(read_file(path_).value(), "text");
}

TEST_F(Back, WhereNamesCannotBeExchangedNothingIsCopied) {
  make_tree();
  int asked = 0;
  const auto count = [&](std::uint64_t) { return ++asked > 0; };
  exchanges = false;
  EXPECT_THAT(move(count).error().text(), testing::HasSubstr("nothing was copied"));
  EXPECT_TRUE(catalog_->placements().value().empty());
  EXPECT_THAT(list_folder(root_ + "/home").value(), testing::ElementsAre("path"));
  exchanges = true;
  ASSERT_TRUE(move([](std::uint64_t) { return true; }));
  exchanges = false;
  EXPECT_THAT(bring(count).error().text(), testing::HasSubstr("nothing was copied"));
  EXPECT_EQ(asked, 0);
  EXPECT_THAT(list_folder(root_ + "/home").value(), testing::ElementsAre("path"));
  EXPECT_EQ(read_file(path_ + "/inside/file").value(), "text");
}

TEST_F(Back, AFileThatBecomesALinkIsNotAdopted) {
  std::ofstream(path_) << "text";
  std::ofstream(root_ + "/other") << "other";
  int asked = 0;
  const auto moved = move([&](std::uint64_t) {
    if (++asked == 2) {  // while it is read again
      std::filesystem::rename(path_, path_ + "-old");
      std::filesystem::create_symlink(root_ + "/other", path_);
    }
    return true;
  });
  ASSERT_FALSE(moved);
  EXPECT_EQ(std::filesystem::read_symlink(path_), root_ + "/other");
  EXPECT_TRUE(catalog_->placements().value().empty());
  EXPECT_THAT(list_folder(root_ + "/home").value(), testing::ElementsAre("path", "path-old"));
}

// He came during the copy; when names have changed places he is seen, and gets the path back.
TEST_F(Back, WhoIsInAFolderThatIsAdoptedLosesNothing) {
  make_tree();
  std::unique_ptr<Somebody> somebody;
  at_rename(2, [&] { EXPECT_TRUE(somebody->write()); });
  const auto moved = move([&](std::uint64_t) {
    somebody = somebody ? std::move(somebody) : std::make_unique<Somebody>(path_ + "/inside");
    return true;
  });
  ASSERT_TRUE(moved) << moved.error().text();
  ASSERT_TRUE(somebody->is_there());
  EXPECT_TRUE(moved->elsewhere());
  EXPECT_EQ(read_file(path_ + "/inside/result").value(), "important");
}

TEST_F(Back, NorWhoIsInOneThatComesHome) {
  make_tree();
  ASSERT_TRUE(move([](std::uint64_t) { return true; }));
  std::unique_ptr<Somebody> somebody;
  at_rename(2, [&] { EXPECT_TRUE(somebody->write()); });
  const auto returned = bring([&](std::uint64_t) {
    somebody = somebody ? std::move(somebody) : std::make_unique<Somebody>(path_ + "/inside");
    return true;
  });
  ASSERT_TRUE(returned) << returned.error().text();
  ASSERT_TRUE(somebody->is_there());
  EXPECT_FALSE(std::filesystem::is_symlink(path_));
  EXPECT_EQ(read_file(path_ + "/inside/result").value(), "important");
}

TEST_F(Back, AlsoWhereTheLinkIsGone) {
  make_tree();
  const auto moved = move([](std::uint64_t) { return true; });
  ASSERT_TRUE(moved);
  std::filesystem::remove(path_);
  std::unique_ptr<Somebody> somebody;
  at_rename(2, [&] { EXPECT_TRUE(somebody->write()); });
  const auto returned = bring([&](std::uint64_t) {
    somebody = somebody ? std::move(somebody) : std::make_unique<Somebody>(moved->target + "/inside");
    return true;
  });
  ASSERT_TRUE(returned) << returned.error().text();
  EXPECT_EQ(read_file(path_ + "/inside/result").value(), "important");
}

// One came before and one afterwards: both have what they wrote.
TEST_F(Back, TwoVersionsAreBothKept) {
  make_tree();
  std::unique_ptr<Somebody> somebody;
  at_rename(2, [&] { std::ofstream(path_ + "/new") << "by the link"; });
  const auto moved = move([&](std::uint64_t) {
    somebody = somebody ? std::move(somebody) : std::make_unique<Somebody>(path_ + "/inside");
    return true;
  });
  ASSERT_FALSE(moved);
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_EQ(read_file(path_ + "/new").value(), "by the link");
  EXPECT_TRUE(somebody->write());
  const auto names = list_folder(root_ + "/home").value();
  ASSERT_EQ(names.size(), 2U);
  EXPECT_EQ(read_file(root_ + "/home/" + names[0] + "/inside/result").value(), "important");
  EXPECT_THAT(moved.error().text(), testing::HasSubstr(names[0]));
  EXPECT_EQ(catalog_->find_placement(path_).value()->state, "placed");
}

TEST_F(Back, TwoVersionsAtHomeAreTwoPlacements) {
  make_tree();
  ASSERT_TRUE(move([](std::uint64_t) { return true; }));
  std::unique_ptr<Somebody> somebody;
  at_rename(2, [&] { std::ofstream(path_ + "/new") << "at home"; });
  const auto returned = bring([&](std::uint64_t) {
    somebody = somebody ? std::move(somebody) : std::make_unique<Somebody>(path_ + "/inside");
    return true;
  });
  ASSERT_FALSE(returned);
  EXPECT_FALSE(std::filesystem::is_symlink(path_));
  EXPECT_EQ(read_file(path_ + "/new").value(), "at home");
  EXPECT_TRUE(somebody->write());
  const auto rows = catalog_->placements().value();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_THAT(returned.error().text(), testing::HasSubstr(rows[0].path));
  EXPECT_EQ(read_file(rows[0].path + "/inside/result").value(), "important");
  before_rename = nullptr;
  path_ = rows[0].path;
  EXPECT_EQ(bring()->outcome, Returned::Outcome::home);
  EXPECT_EQ(read_file(path_ + "/inside/result").value(), "important");
}

// After the copy has them: while it is read again.
TEST_F(Back, AttributesThatAreSetMeanwhileAreKept) {
  ASSERT_TRUE(put());
  std::ofstream(path_) << std::string(100, 'x');
  if (setxattr(path_.c_str(), "user.first", "1", 1, 0) != 0) {
    GTEST_SKIP() << "no attributes here";
  }
  const std::string target = catalog_->find_placement(path_).value()->target;
  int asked = 0;
  ASSERT_TRUE(bring([&](std::uint64_t) {
    const auto copies = list_folder(root_ + "/home").value();
    const std::string copy = root_ + "/home/" + copies.front();
    if (copies.size() == 2 && getxattr(copy.c_str(), "user.first", nullptr, 0) == 1 && asked++ == 0) {
      EXPECT_EQ(setxattr(target.c_str(), "user.late", "1", 1, 0), 0);
      EXPECT_EQ(removexattr(target.c_str(), "user.first"), 0);
    }
    return true;
  }));
  EXPECT_GE(asked, 1);
  EXPECT_EQ(getxattr(path_.c_str(), "user.late", nullptr, 0), 1);
  EXPECT_EQ(getxattr(path_.c_str(), "user.first", nullptr, 0), -1);
}

TEST_F(Back, WhatIsGoneWithAPlaceIsToldFromAPlaceThatIsGone) {
  ASSERT_TRUE(put());
  std::ofstream(path_) << "x";
  std::filesystem::remove_all(root_ + "/fast");
  place_is_there_ = false;
  EXPECT_EQ(bring().error().number, ENOENT);
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  place_is_there_ = true;
  EXPECT_EQ(bring()->outcome, Returned::Outcome::lost);
  EXPECT_FALSE(std::filesystem::is_symlink(path_));
  EXPECT_TRUE(catalog_->placements().value().empty());
}

}  // namespace
}  // namespace sluice

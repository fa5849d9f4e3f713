#include "pipeline/moves.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <utility>

#include "pipeline/area.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// An area with moves alone, in memory that a child shares.
class Moves : public testing::Test {
 protected:
  Moves() {
    memory_ = static_cast<std::byte*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    area_ = new (memory_) Area;
    area_->moves = (sizeof(Area) + 63) / 64 * 64;
    std::string name = (fs::temp_directory_path() / "moves-XXXXXX").string();
    folder_ = fs::canonical(mkdtemp(name.data()));
  }
  ~Moves() override {
    fs::remove_all(folder_);
    munmap(memory_, bytes);
  }
  Moves(const Moves&) = delete;
  Moves& operator=(const Moves&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::string data(const std::string& name) const { return folder_ / ("sluice-" + name); }
  // A file that is elsewhere.
  AreaMove& make(const std::string& name) {
    std::ofstream(data(name)) << name;
    AreaMove* move = new_move(*area_, path(name), data(name));
    move->state = AreaMove::there;
    EXPECT_TRUE(link_to(*area_, *move));
    return *move;
  }
  AreaMove* find(const std::string& name) {
    bool again = false;
    return move_of(*area_, AT_FDCWD, path(name).c_str(), again);
  }

  static constexpr std::size_t bytes = sizeof(Area) + 64 + moves_bytes;
  std::byte* memory_ = nullptr;
  Area* area_ = nullptr;
  fs::path folder_;
};

// Whoever brings files home at the end may have looked already, and found no link.
TEST_F(Moves, NoLinkIsMadeWhenTheRunIsOver) {
  AreaMove* move = new_move(*area_, path("late"), data("late"));
  move->state = AreaMove::there;
  area_->over = 1;
  EXPECT_FALSE(link_to(*area_, *move));
  EXPECT_EQ(errno, EXDEV);
  EXPECT_FALSE(fs::is_symlink(path("late")));
  EXPECT_EQ(move->flags & AreaMove::linked, 0U);
  area_->over = 0;
  EXPECT_TRUE(link_to(*area_, *move));
  EXPECT_NE(move->flags & AreaMove::linked, 0U);
}

TEST_F(Moves, WhatAPathIsItsLinkSays) {
  AreaMove& one = make("one");
  EXPECT_EQ(find("one"), &one);
  EXPECT_EQ(find("other"), nullptr);
  fs::create_symlink(data("one"), path("copy"));
  EXPECT_EQ(find("copy"), nullptr) << "a copy of the link is a link";
  end_move(*area_, one);
  EXPECT_EQ(find("one"), nullptr);
}

TEST_F(Moves, ARowThatIsAnotherFilesIsTold) {
  AreaMove& one = make("one");
  const void* packed = pack_move(*area_, one);
  EXPECT_EQ(unpack_move(*area_, packed), &one);
  end_move(*area_, one);
  ASSERT_EQ(new_move(*area_, path("one"), data("one")), &one);
  EXPECT_EQ(unpack_move(*area_, packed), nullptr);
}

TEST_F(Moves, AFoundFileStaysWhatItWasWhenItsRowIsAnothers) {
  AreaMove& one = make("one");
  bool again = false;
  const FoundMove found = find_move(*area_, AT_FDCWD, path("one").c_str(), again);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found.is_still());
  // As if the other's data had the same hash.
  end_move(*area_, one);
  ASSERT_EQ(new_move(*area_, path("two"), data("one")), &one);
  std::strcpy(one.data.data(), data("two").c_str());
  one.state = AreaMove::there;
  EXPECT_FALSE(found.is_still());
  EXPECT_EQ(found.data.data(), data("one"));
  EXPECT_EQ(unpack_move(*area_, pack_move(*area_, found)), nullptr);
}

TEST_F(Moves, WithoutDescriptorsPathsAreTheSame) {
  fs::create_directories(path("folder/below"));
  fs::create_symlink("folder/./below", path("link"));
  fs::create_symlink(path("link"), path("folder/back"));
  const int in = open(folder_.c_str(), O_PATH | O_DIRECTORY);
  const std::string before = fs::current_path();
  fs::current_path(folder_);
  const std::string whole = path("folder/back/x");
  const std::pair<int, const char*> all[] = {{AT_FDCWD, "x"},
                                             {AT_FDCWD, "./link//x"},
                                             {AT_FDCWD, "link/../x/"},
                                             {AT_FDCWD, whole.c_str()},
                                             {AT_FDCWD, "/x"},
                                             {AT_FDCWD, "/../tmp/../x"},
                                             {in, "x"},
                                             {in, "folder/back/x"},
                                             {in, ".."},
                                             {AT_FDCWD, "nowhere/x"},
                                             {-1, "x"}};
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  for (const auto& [folder, name] : all) {
    char with[sizeof(AreaMove::path)] = "";
    char without[sizeof(AreaMove::path)] = "";
    const bool told = real_path(folder, name, with);
    const rlimit none{.rlim_cur = 0, .rlim_max = limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    EXPECT_EQ(real_path(folder, name, without), told) << name;
    setrlimit(RLIMIT_NOFILE, &limit);
    EXPECT_TRUE(!told || std::string(with) == without) << with << ", and " << without;
  }
  fs::current_path(before);
  close(in);
}

TEST_F(Moves, WhoIsKilledWhileNamesChangeIsFinishedForTheNewName) {
  // Of several, so that either name may be the first to be locked.
  for (int i = 0; i < 16; ++i) {
    const bool renamed = i % 2 != 0;
    const std::string old_name = "from" + std::to_string(i);
    const std::string new_name = "to" + std::to_string(i);
    AreaMove& from = make(old_name);
    AreaMove& to = make(new_name);
    const pid_t child = fork();
    if (child == 0) {
      Naming naming(*area_, path(old_name), path(new_name));
      naming.intend(&from, &to, path(new_name));
      if (renamed) {
        fs::rename(path(old_name), path(new_name));
      }
      _exit(0);
    }
    waitpid(child, nullptr, 0);
    { const Naming next(*area_, path(new_name)); }
    EXPECT_EQ(find(new_name), renamed ? &from : &to);
    EXPECT_EQ(find(old_name), renamed ? nullptr : &from);
    EXPECT_EQ(fs::exists(data(new_name)), !renamed);
    for (AreaMove* move : {&from, &to}) {
      end_move(*area_, *move);
    }
    fs::remove(path(old_name));
    fs::remove(path(new_name));
  }
  EXPECT_EQ(area_->moves_live, 0U);
}

TEST_F(Moves, WhoIsKilledWhileNamesChangePlacesIsFinished) {
  for (const bool exchanged : {false, true}) {
    AreaMove& one = make("one");
    AreaMove& other = make("other");
    const pid_t child = fork();
    if (child == 0) {
      Naming naming(*area_, path("one"), path("other"));
      naming.intend_exchange(one, &other, path("other"));
      if (exchanged) {
        renameat2(AT_FDCWD, path("one").c_str(), AT_FDCWD, path("other").c_str(), RENAME_EXCHANGE);
      }
      _exit(0);
    }
    waitpid(child, nullptr, 0);
    { const Naming all(*area_); }
    EXPECT_EQ(find("one"), exchanged ? &other : &one);
    EXPECT_EQ(find("other"), exchanged ? &one : &other);
    for (AreaMove* move : {&one, &other}) {
      EXPECT_TRUE(fs::exists(move->data.data()));
      end_move(*area_, *move);
    }
    fs::remove(path("one"));
    fs::remove(path("other"));
  }
}

TEST_F(Moves, WhoIsKilledAfterItRemovedANameIsFinished) {
  AreaMove& one = make("one");
  const pid_t child = fork();
  if (child == 0) {
    Naming naming(*area_, path("one"));
    naming.intend(nullptr, &one, "");
    fs::remove(path("one"));
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  { const Naming all(*area_); }
  EXPECT_EQ(area_->moves_live, 0U);
  EXPECT_FALSE(fs::exists(data("one")));
}

TEST_F(Moves, NobodyWaitsForEverWhereItMayNot) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const Naming naming(*area_, path("one"));
    [[maybe_unused]] const ssize_t told = write(ready[1], "x", 1);
    pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_FALSE(Naming(*area_, path("one"), 20).good());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(Naming(*area_, path("one"), 20).good());
}

}  // namespace
}  // namespace sluice

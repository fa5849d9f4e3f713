#include "places/probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/sys.h"
#include "base/test_root.h"

namespace sluice {
namespace {

constexpr Duration timeout(5, 0);

Question ask(std::string folder) {
  return {.folder = std::move(folder), .folders = {}, .device = {}, .device_number = 0};
}

TEST(Probe, AsksAll) {
  const std::vector<Question> questions = {ask("/"), ask("/no/such/folder"), ask("/etc/passwd"), ask("/tmp"),
                                           ask("/proc")};
  const std::vector<Answer> answers = probe_mounts(questions, timeout);
  ASSERT_EQ(answers.size(), 5U);
  EXPECT_EQ(answers[0].reach, Reach::reachable);
  EXPECT_GT(answers[0].blocks, 0U);
  EXPECT_EQ(answers[1].reach, Reach::unreachable);
  EXPECT_EQ(answers[1].note, "No such file or directory");
  EXPECT_FALSE(answers[2].is_folder);
  EXPECT_TRUE(answers[3].writable);
  EXPECT_FALSE(answers[4].writable && geteuid() != 0);
}

TEST(Probe, NothingToAsk) {
  EXPECT_TRUE(probe_mounts({}, timeout).empty());
}

TEST(Probe, ManyFolders) {
  const std::vector<Question> questions(5000, ask("/tmp"));
  for (const Answer& answer : probe_mounts(questions, timeout)) {
    ASSERT_EQ(answer.reach, Reach::reachable) << answer.note;
  }
}

TEST(Probe, FindsTheFirstWritableFolderOnTheSameMount) {
  std::string pattern = testing::TempDir() + "/probe-XXXXXX";
  const std::string folder = mkdtemp(pattern.data());
  std::filesystem::create_directories(folder + "/mount/good");
  std::filesystem::create_symlink("/proc", folder + "/mount/elsewhere");
  ASSERT_EQ(chmod((folder + "/mount").c_str(), 0555), 0);
  Question question = ask(folder + "/mount");
  question.folders = {folder + "/mount/missing", folder + "/mount/elsewhere", folder + "/mount/good"};
  const std::vector<Question> questions = {question};
  const Answer answer = probe_mounts(questions, timeout)[0];
  if (has_rights_of_root()) {
    EXPECT_TRUE(answer.writable);  // root may always
    EXPECT_EQ(answer.usable, "");
  } else {
    EXPECT_FALSE(answer.writable);
    EXPECT_EQ(answer.usable, folder + "/mount/good");
  }
  chmod((folder + "/mount").c_str(), 0755);
  std::filesystem::remove_all(folder);
}

TEST(Probe, PathsLongerThanTheKernelTakes) {
  std::string pattern = testing::TempDir() + "/probe-XXXXXX";
  const std::string folder = mkdtemp(pattern.data());
  const int start = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(chdir(folder.c_str()), 0);
  std::string path = folder;
  const std::string part(200, 'd');
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(mkdir(part.c_str(), 0700), 0);
    ASSERT_EQ(chdir(part.c_str()), 0);
    path += "/" + part;
  }
  ASSERT_EQ(fchdir(start), 0);
  close(start);
  ASSERT_GT(path.size(), 4096U);
  const std::vector<Question> questions = {ask(path), ask("/" + std::string(5000, 'x'))};
  const std::vector<Answer> answers = probe_mounts(questions, timeout);
  EXPECT_EQ(answers[0].reach, Reach::reachable) << answers[0].note;
  EXPECT_TRUE(answers[0].writable);
  EXPECT_EQ(answers[1].note, "File name too long");
  std::filesystem::remove_all(folder);
}

// Stand-ins for mounts that do not answer and for a probe that dies: the children use the table of system
// calls.
int never_statvfs(const char* path, struct statvfs* out) {
  if (std::string_view(path).find("/hang") != std::string_view::npos) {
    sleep(60);
  }
  if (std::string_view(path).find("/crash") != std::string_view::npos) {
    abort();
  }
  return real_sys().statvfs("/tmp", out);
}

int any_open(const char* /*path*/, int flags, mode_t mode) {
  return real_sys().open("/tmp", flags, mode);
}

TEST(Probe, HangingAndCrashingOnesDoNotHoldUpTheOthers) {
  Sys table = real_sys();
  table.statvfs = never_statvfs;
  table.open = any_open;
  const ScopedSys scope(table);
  std::vector<Question> questions;
  for (int i = 0; i < 60; ++i) {
    questions.push_back(ask(fmt::format("/{}{}", i % 3 == 0 ? "hang" : i == 31 ? "crash" : "good", i)));
  }
  const std::vector<Answer> answers = probe_mounts(questions, Duration(4, 0));
  for (int i = 0; i < 60; ++i) {
    const Answer& answer = answers[static_cast<std::size_t>(i)];
    if (i % 3 == 0 || i == 31) {
      EXPECT_EQ(answer.reach, Reach::unreachable) << i;
      EXPECT_EQ(answer.note, "no answer within 4s") << i;
    } else {
      EXPECT_EQ(answer.reach, Reach::reachable) << i << answer.note;
    }
  }
}

TEST(Probe, SaysWhatItWaitsFor) {
  Sys table = real_sys();
  table.statvfs = never_statvfs;
  table.open = any_open;
  const ScopedSys scope(table);
  std::string said;
  const std::vector<Question> questions = {ask("/good"), ask("/hang")};
  probe_mounts(questions, Duration(2, 0), [&](std::string_view text) { said = text; });
  EXPECT_EQ(said, "waiting for 1 of 2 mounts");
}

int denied_open(const char* /*path*/, int /*flags*/, mode_t /*mode*/) {
  errno = EACCES;
  return -1;
}

TEST(Probe, DeniedIsNotUnreachable) {
  Sys table = real_sys();
  table.open = denied_open;
  const ScopedSys scope(table);
  const std::vector<Question> questions = {ask("/tmp")};
  const Answer answer = probe_mounts(questions, timeout)[0];
  EXPECT_EQ(answer.reach, Reach::denied);
  EXPECT_EQ(answer.note, "Permission denied");
}

}  // namespace
}  // namespace sluice

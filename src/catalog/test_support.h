// What the catalog's tests share: folders that vanish, children that run a piece of a test as somebody else
// or on a file system of their own, and a soak count.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/test_root.h"
#include "catalog/catalog.h"
#include "catalog/sqlite.h"

namespace sluice::test {

// SLUICE_SOAK multiplies the iterations of the long tests.
inline int soak() {
  const char* text = std::getenv("SLUICE_SOAK");
  const int value = text != nullptr ? std::atoi(text) : 1;
  return value > 0 ? value : 1;
}

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(testing::TempDir() + "sluice_catalog_XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) {
      ADD_FAILURE() << "cannot create " << path_;
    }
    path_ = std::filesystem::canonical(path_).string();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline constexpr int kSkipped = 77;

// For std::filesystem calls that may fail.
inline std::error_code& ignored() {
  static std::error_code code;
  return code;
}

// Starts a child that runs `body` (EXPECT_ works in it) and leaves without running the parent's destructors.
// The status is 0, 1 when an expectation failed, or what body returned.
template <class Body>
pid_t start_child(Body&& body) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const int status = body();
    fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : status);
  }
  return child;
}

// The exit status, or 1000 + signal.
inline int wait_for(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) {
    return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

template <class Body>
int in_child(Body&& body) {
  return wait_for(start_child(std::forward<Body>(body)));
}

// Root passes every permission check, so the caller (a child) becomes nobody. Others stay who they are.
inline void drop_root() {
  if (has_rights_of_root()) {
    EXPECT_EQ(setresgid(65534, 65534, 65534), 0);
    EXPECT_EQ(setresuid(65534, 65534, 65534), 0);
  }
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Gives the caller (a child) mounts of its own, which end with it. Without root, by way of a user namespace.
inline bool own_mounts() {
  if (geteuid() == 0) {
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  }
  const std::string user = "0 " + std::to_string(geteuid()) + " 1";
  const std::string group = "0 " + std::to_string(getegid()) + " 1";
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
    return false;
  }
  write_text("/proc/self/setgroups", "deny");
  write_text("/proc/self/uid_map", user);
  write_text("/proc/self/gid_map", group);
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

// A memory file system of its own for the caller (a child).
inline bool mount_memory(const std::string& folder, const std::string& options) {
  return own_mounts() && mount("none", folder.c_str(), "tmpfs", 0, options.c_str()) == 0;
}

inline std::unique_ptr<Catalog> open(const std::string& path, Catalog::Mode mode = Catalog::Mode::write,
                                     const SqliteOptions& options = {}) {
  Result<std::unique_ptr<Catalog>> catalog = open_sqlite(path, mode, options);
  if (!catalog) {
    ADD_FAILURE() << catalog.error().text();
    return nullptr;
  }
  return std::move(*catalog);
}

// The text of the error that opening gives, or "" when there is none.
inline std::string open_error(const std::string& path, Catalog::Mode mode,
                              const SqliteOptions& options = {}) {
  const Result<std::unique_ptr<Catalog>> catalog = open_sqlite(path, mode, options);
  return catalog ? "" : catalog.error().text();
}

// Runs SQL on a file with SQLite alone and gives the first column of the rows, each ended by "\n".
inline std::string raw_sql(const std::string& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  std::string out;
  sqlite3_open(path.c_str(), &handle);
  sqlite3_busy_timeout(handle, 10'000);
  char* problem = nullptr;
  const auto collect = [](void* into, int, char** values, char**) {
    *static_cast<std::string*>(into) += std::string(values[0] != nullptr ? values[0] : "NULL") + "\n";
    return 0;
  };
  if (sqlite3_exec(handle, sql.c_str(), collect, &out, &problem) != SQLITE_OK) {
    out += std::string("error: ") + (problem != nullptr ? problem : "");
  }
  sqlite3_free(problem);
  sqlite3_close(handle);
  return out;
}

inline FileRow file_row(const std::string& path, std::uint64_t promised = 1) {
  return {.path = path, .intent = "sequential write", .place = "nvme", .promised = promised};
}

}  // namespace sluice::test

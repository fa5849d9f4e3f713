// Every system call that Sluice makes on files goes through one table, so that a test can make each of them
// fail in turn and the interposer can fill in the real ones.
//
// sys() may be called from any thread; replacing the table (ScopedSys) is for tests and single-threaded.
#pragma once

#include <dirent.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>

#include <cstddef>

namespace sluice {

// name, result, failure value, parameters, arguments
#define SLUICE_SYS_TABLE(X)                                                                             \
  X(open, int, -1, (const char* path, int flags, mode_t mode), (path, flags, mode))                     \
  X(close, int, -1, (int fd), (fd))                                                                     \
  X(read, ssize_t, -1, (int fd, void* data, std::size_t size), (fd, data, size))                        \
  X(write, ssize_t, -1, (int fd, const void* data, std::size_t size), (fd, data, size))                 \
  X(pread, ssize_t, -1, (int fd, void* data, std::size_t size, off_t offset), (fd, data, size, offset)) \
  X(pwrite, ssize_t, -1, (int fd, const void* data, std::size_t size, off_t offset),                    \
    (fd, data, size, offset))                                                                           \
  X(fsync, int, -1, (int fd), (fd))                                                                     \
  X(stat, int, -1, (const char* path, struct stat* out), (path, out))                                   \
  X(statvfs, int, -1, (const char* path, struct statvfs* out), (path, out))                             \
  X(readlink, ssize_t, -1, (const char* path, char* out, std::size_t size), (path, out, size))          \
  X(rename, int, -1, (const char* from, const char* to), (from, to))                                    \
  X(unlink, int, -1, (const char* path), (path))                                                        \
  X(mkdir, int, -1, (const char* path, mode_t mode), (path, mode))                                      \
  X(access, int, -1, (const char* path, int mode), (path, mode))                                        \
  X(ioctl, int, -1, (int fd, unsigned long request, void* argument), (fd, request, argument))           \
  X(getxattr, ssize_t, -1, (const char* path, const char* name, void* out, std::size_t size),           \
    (path, name, out, size))                                                                            \
  X(opendir, DIR*, nullptr, (const char* path), (path))                                                 \
  X(readdir, dirent*, nullptr, (DIR * directory), (directory))                                          \
  X(closedir, int, -1, (DIR * directory), (directory))

struct Sys {
#define SLUICE_SYS_MEMBER(name, result, failure, parameters, arguments) result(*name) parameters;
  SLUICE_SYS_TABLE(SLUICE_SYS_MEMBER)
#undef SLUICE_SYS_MEMBER
};

const Sys& real_sys();
const Sys& sys();

// Replaces the table for its lifetime. REQUIRES: no other thread is using sys().
class ScopedSys {
 public:
  explicit ScopedSys(const Sys& replacement);
  ~ScopedSys();
  ScopedSys(const ScopedSys&) = delete;
  ScopedSys& operator=(const ScopedSys&) = delete;

 private:
  const Sys* before_;
};

// Makes the n-th call through the table (counted from 1) fail with `number`; the others are real. With n = 0
// nothing fails and calls() tells how many there were, so that a test can step through all of them.
// At most one may live at a time.
class FailNth {
 public:
  FailNth(std::size_t n, int number);
  ~FailNth();
  FailNth(const FailNth&) = delete;
  FailNth& operator=(const FailNth&) = delete;

  [[nodiscard]] std::size_t calls() const;

 private:
  ScopedSys scope_;
};

// A file descriptor that closes itself.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  ~UniqueFd() { reset(); }
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = other.release();
    }
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;

  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release();
  void reset();

 private:
  int fd_ = -1;
};

}  // namespace sluice

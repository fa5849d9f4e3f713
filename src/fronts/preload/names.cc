// Calls that open files or give descriptors to and fro.
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "fronts/preload/export.h"
#include "fronts/preload/file.h"

using sluice::preload::abandon;
using sluice::preload::act;
using sluice::preload::attach;
using sluice::preload::begin;
using sluice::preload::detach;
using sluice::preload::File;
using sluice::preload::forget;
using sluice::preload::is_active;
using sluice::preload::real;
using sluice::preload::share;

namespace {

int open_as(File& file, int folder, const char* path, int flags, mode_t mode) {
  sluice_activity activity = {};
  activity.size = sizeof activity;
  activity.operation = SLUICE_OPEN;
  activity.descriptor = folder;
  activity.flags = flags;
  activity.mode = mode;
  activity.path = file.path;
  activity.target = path;
  const auto fd = static_cast<int>(act(file, activity));
  if (fd < 0) {
    abandon(file);
  } else {
    attach(file, fd);
  }
  return fd;
}

bool makes_files(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

// A file that libc opened by itself.
void adopt(int fd, const char* path, int flags) {
  const int saved = errno;
  forget(fd);
  if (File* file = fd < 0 ? nullptr : begin(AT_FDCWD, path, flags); file != nullptr) {
    attach(*file, fd);
  }
  errno = saved;
}

}  // namespace

#define SLUICE_MODE(last)        \
  mode_t mode = 0;               \
  if (makes_files(flags)) {      \
    va_list list;                \
    va_start(list, last);        \
    mode = va_arg(list, mode_t); \
    va_end(list);                \
  }

SLUICE_EXPORT int open(const char* path, int flags, ...) {
  SLUICE_MODE(flags)
  File* file = begin(AT_FDCWD, path, flags);
  return file == nullptr ? real.open(path, flags, mode) : open_as(*file, AT_FDCWD, path, flags, mode);
}
SLUICE_ALIAS(int, open64, open, (const char*, int, ...));
SLUICE_EXPORT int __open_2(const char* path, int flags) {
  return open(path, flags);
}
SLUICE_ALIAS(int, __open64_2, __open_2, (const char*, int));

SLUICE_EXPORT int openat(int folder, const char* path, int flags, ...) {
  SLUICE_MODE(flags)
  File* file = begin(folder, path, flags);
  return file == nullptr ? real.openat(folder, path, flags, mode) : open_as(*file, folder, path, flags, mode);
}
SLUICE_ALIAS(int, openat64, openat, (int, const char*, int, ...));
SLUICE_EXPORT int __openat_2(int folder, const char* path, int flags) {
  return openat(folder, path, flags);
}
SLUICE_ALIAS(int, __openat64_2, __openat_2, (int, const char*, int));

SLUICE_EXPORT int creat(const char* path, mode_t mode) {
  return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
SLUICE_ALIAS(int, creat64, creat, (const char*, mode_t));

SLUICE_EXPORT int mkostemps(char* path, int suffix, int flags) {
  const int fd = real.mkostemps(path, suffix, flags);
  adopt(fd, path, O_RDWR | O_CREAT | flags);
  return fd;
}
SLUICE_EXPORT int mkstemp(char* path) {
  return mkostemps(path, 0, 0);
}
SLUICE_EXPORT int mkostemp(char* path, int flags) {
  return mkostemps(path, 0, flags);
}
SLUICE_EXPORT int mkstemps(char* path, int suffix) {
  return mkostemps(path, suffix, 0);
}
SLUICE_ALIAS(int, mkstemp64, mkstemp, (char*));
SLUICE_ALIAS(int, mkostemp64, mkostemp, (char*, int));
SLUICE_ALIAS(int, mkstemps64, mkstemps, (char*, int));
SLUICE_ALIAS(int, mkostemps64, mkostemps, (char*, int, int));

SLUICE_EXPORT FILE* fopen(const char* path, const char* mode) {
  FILE* out = real.fopen(path, mode);
  if (out != nullptr) {
    const int fd = out->_fileno;
    adopt(fd, path, is_active() ? real.fcntl(fd, F_GETFL, 0L) : 0);
  }
  return out;
}
SLUICE_ALIAS(FILE*, fopen64, fopen, (const char*, const char*));
SLUICE_EXPORT FILE* freopen(const char* path, const char* mode, FILE* file) {
  if (file != nullptr) {
    forget(file->_fileno);
  }
  FILE* out = real.freopen(path, mode, file);
  if (out != nullptr && path != nullptr) {
    const int fd = out->_fileno;
    adopt(fd, path, is_active() ? real.fcntl(fd, F_GETFL, 0L) : 0);
  }
  return out;
}
SLUICE_ALIAS(FILE*, freopen64, freopen, (const char*, const char*, FILE*));

// The descriptor is taken out first: as soon as it is closed, another thread may be given the same number.
SLUICE_EXPORT int close(int fd) {
  File* file = detach(fd);
  if (file == nullptr) {
    return real.close(fd);
  }
  const auto out = static_cast<int>(act(*file, SLUICE_CLOSE, fd, nullptr, 0, 0));
  file->states = {};
  abandon(*file);
  return out;
}
SLUICE_EXPORT int close_range(unsigned first, unsigned last, int flags) noexcept {
  if ((flags & static_cast<int>(CLOSE_RANGE_CLOEXEC)) == 0) {
    forget(first, last);
  }
  return real.close_range(first, last, flags);
}
SLUICE_EXPORT void closefrom(int first) noexcept {
  if (close_range(static_cast<unsigned>(first < 0 ? 0 : first), ~0U, 0) != 0) {
    __builtin_trap();
  }
}

SLUICE_EXPORT int dup(int fd) noexcept {
  const int out = real.dup(fd);
  share(fd, out);
  return out;
}
SLUICE_EXPORT int dup2(int fd, int other) noexcept {
  const int out = real.dup2(fd, other);
  if (fd != other) {
    share(fd, out);
  }
  return out;
}
SLUICE_EXPORT int dup3(int fd, int other, int flags) noexcept {
  const int out = real.dup3(fd, other, flags);
  share(fd, out);
  return out;
}
SLUICE_EXPORT int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  const int out = real.fcntl(fd, command, argument);
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
    share(fd, out);
  }
  return out;
}
SLUICE_ALIAS(int, fcntl64, fcntl, (int, int, ...));

// A child of vfork shares our tables, and would take descriptors out of them that its parent still has.
SLUICE_EXPORT pid_t vfork() noexcept {
  return real.fork();
}

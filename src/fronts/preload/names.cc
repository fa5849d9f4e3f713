// Calls that open files or give descriptors to and fro.
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "fronts/preload/elsewhere.h"
#include "fronts/preload/export.h"
#include "fronts/preload/file.h"
#include "fronts/preload/hints.h"
#include "fronts/preload/pending.h"
#include "pipeline/area.h"

using sluice::preload::abandon;
using sluice::preload::act;
using sluice::preload::act_open;
using sluice::preload::begin;
using sluice::preload::by_name;
using sluice::preload::cancel_point;
using sluice::preload::detach;
using sluice::preload::fails;
using sluice::preload::File;
using sluice::preload::files;
using sluice::preload::forget;
using sluice::preload::hear_lifetime;
using sluice::preload::Held;
using sluice::preload::hold;
using sluice::preload::is_active;
using sluice::preload::is_single_threaded;
using sluice::preload::may_keep;
using sluice::preload::most_descriptors;
using sluice::preload::NameHold;
using sluice::preload::open_native;
using sluice::preload::open_through;
using sluice::preload::placed_data;
using sluice::preload::put_down_name;
using sluice::preload::real;
using sluice::preload::settle;
using sluice::preload::settle_all;
using sluice::preload::share;

namespace {

int open_as(File& file, int folder, const char* path, int flags, mode_t mode) {
  return static_cast<int>(act_open(file, folder, path, flags, mode));
}

bool makes_files(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

// Libc opens by itself; the stages see an open all the same, and one of them may refuse it.
struct Opening {
  const char* path;
  const char* mode;
  int flags;  // that the mode means; -1 where it is none
  FILE* stream;
};

std::int64_t open_stream(void* context) {
  auto& self = *static_cast<Opening*>(context);
  if (fails(put_down_name(AT_FDCWD, self.path))) {
    return -1;
  }
  const NameHold hold = NameHold::for_open(AT_FDCWD, self.path, std::max(self.flags, 0));
  if (hold.refuses()) {
    return -1;
  }
  const char* data = placed_data(AT_FDCWD, self.path, self.flags);
  const char* path = data == nullptr ? self.path : data;
  char own[32];
  const int saved = errno;
  const int there = open_through(AT_FDCWD, path, std::max(self.flags, 0) & ~O_TRUNC);
  errno = saved;
  if (there >= 0) {
    std::snprintf(own, sizeof own, "/proc/self/fd/%d", there);
    path = own;
  }
  self.stream = self.stream == nullptr ? by_name(AT_FDCWD, path, [&] { return real.fopen(path, self.mode); })
                                       : real.freopen(path, self.mode, self.stream);
  if (there >= 0) {
    real.close(there);
  }
  return self.stream == nullptr ? -1 : self.stream->_fileno;
}

struct Temporary {
  char* path;
  int suffix;
  int flags;
  File& file;
};

// The file is called by its name, not by what that was made from, which is as long.
std::int64_t open_temporary(void* context) {
  const auto& self = *static_cast<const Temporary*>(context);
  const int fd = real.mkostemps(self.path, self.suffix, self.flags);
  const char* slash = std::strrchr(self.path, '/');
  const char* name = slash == nullptr ? self.path : slash + 1;
  const std::size_t length = std::strlen(name);
  const std::size_t whole = std::strlen(self.file.path);
  if (fd >= 0 && length <= whole) {
    std::memcpy(self.file.path + whole - length, name, length);
  }
  return fd;
}

// Flags that a mode of stdio means; -1 where it is none.
int flags_of(const char* mode) {
  const bool both = std::strchr(mode, '+') != nullptr;
  const int access = both ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY;
  const int kind = mode[0] == 'r'   ? 0
                   : mode[0] == 'w' ? O_CREAT | O_TRUNC
                   : mode[0] == 'a' ? O_CREAT | O_APPEND
                                    : -1;
  return kind < 0 ? -1
                  : access | kind | (std::strchr(mode, 'x') != nullptr ? O_EXCL : 0) |
                        (std::strchr(mode, 'e') != nullptr ? O_CLOEXEC : 0);
}

// The kernel closes what was at a number that another descriptor takes, and what goes by the names of the
// standard ones may be written by libc itself, unseen.
void before_dup(int fd, int other) {
  if (!may_keep() || fd == other || real.fcntl(fd, F_GETFD) < 0) {
    return;
  }
  settle(fd, SLUICE_SETTLE_SHARE);
  settle(other, SLUICE_SETTLE_RETIRE | SLUICE_SETTLE_LEAVE);
  if (other <= STDERR_FILENO) {
    settle(fd, SLUICE_SETTLE_RETIRE);
  }
}

// Whether a lock is counted from the file's position.
bool is_from(const void* lock, int whence) {
  return sluice::is_memory(lock, sizeof(struct flock)) &&
         static_cast<const struct flock*>(lock)->l_whence == whence;
}

// What a lock, or a question about one, is counted from is to be the kernel's; `other` where it is the
// beginning.
int settle_for_lock(const void* lock, int other) {
  return is_from(lock, SEEK_CUR)   ? SLUICE_SETTLE_LOCK | SLUICE_SETTLE_POSITION
         : is_from(lock, SEEK_END) ? 0
                                   : other;
}

// What a command of fcntl() means for what is kept back.
int settle_for(int command, const void* argument) {
  switch (command) {
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
      return settle_for_lock(argument, SLUICE_SETTLE_LOCK);
    case F_GETLK:
    case F_OFD_GETLK:
      return settle_for_lock(argument, SLUICE_SETTLE_SHARE);
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
    case F_GETFL:
    case F_SET_RW_HINT:
    case F_GET_RW_HINT:
      return SLUICE_SETTLE_SHARE;
    case F_SETFL:
    case F_SETLEASE:
    case F_SETOWN:
    case F_GETOWN:
    case F_SETOWN_EX:
    case F_GETOWN_EX:
    case F_SETSIG:
    case F_GETSIG:
    case F_GETLEASE:
    case F_NOTIFY:
      return SLUICE_SETTLE_RETIRE;
    default:
      return -1;
  }
}

// The kernel shows a lease among the flags of the file.
bool is_our_lease(int fd) {
  f_owner_ex owner{};
  return real.fcntl(fd, F_GETOWN_EX, &owner) == 0 && owner.type == F_OWNER_TID &&
         owner.pid == sluice::this_area()->keeper_thread;
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
  cancel_point();
  File* file = begin(AT_FDCWD, path, flags);
  return file == nullptr ? open_native(AT_FDCWD, path, flags, mode)
                         : open_as(*file, AT_FDCWD, path, flags, mode);
}
SLUICE_ALIAS(int, open64, open, (const char*, int, ...));
// Without a mode: whoever needs one is stopped by libc.
SLUICE_EXPORT int __open_2(const char* path, int flags) {
  return makes_files(flags) ? real.open_2(path, flags) : open(path, flags);
}
SLUICE_ALIAS(int, __open64_2, __open_2, (const char*, int));

SLUICE_EXPORT int openat(int folder, const char* path, int flags, ...) {
  SLUICE_MODE(flags)
  cancel_point();
  File* file = begin(folder, path, flags);
  return file == nullptr ? open_native(folder, path, flags, mode) : open_as(*file, folder, path, flags, mode);
}
SLUICE_ALIAS(int, openat64, openat, (int, const char*, int, ...));
SLUICE_EXPORT int __openat_2(int folder, const char* path, int flags) {
  return makes_files(flags) ? real.openat_2(folder, path, flags) : openat(folder, path, flags);
}
SLUICE_ALIAS(int, __openat64_2, __openat_2, (int, const char*, int));

SLUICE_EXPORT int creat(const char* path, mode_t mode) {
  return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
SLUICE_ALIAS(int, creat64, creat, (const char*, mode_t));

SLUICE_EXPORT int mkostemps(char* path, int suffix, int flags) {
  File* file = begin(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | flags);
  if (file == nullptr) {
    return real.mkostemps(path, suffix, flags);
  }
  Temporary one{.path = path, .suffix = suffix, .flags = flags, .file = *file};
  const auto fd =
      act_open(*file, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | flags, 0600, open_temporary, &one);
  return static_cast<int>(fd);
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
  const int flags = is_active() ? flags_of(mode) : -1;
  File* file = flags < 0 ? nullptr : begin(AT_FDCWD, path, flags);
  Opening one{.path = path, .mode = mode, .flags = flags, .stream = nullptr};
  if (file == nullptr) {
    open_stream(&one);
    return one.stream;
  }
  if (file != &sluice::preload::refused && (file->stack->needs_data() || file->stack->changes_opens()) &&
      std::strchr(mode, ',') == nullptr) {
    const int fd = open_as(*file, AT_FDCWD, path, flags, 0666);
    if (fd >= 0 && (flags & (O_APPEND | O_ACCMODE)) == (O_APPEND | O_WRONLY)) {
      lseek(fd, 0, SEEK_END);  // as libc does: who asks where it is wants the file's size
    }
    FILE* out = fd < 0 ? nullptr : fdopen(fd, mode);
    if (fd >= 0 && out == nullptr) {
      const int saved = errno;
      close(fd);
      errno = saved;
    }
    return out;
  }
  act_open(*file, AT_FDCWD, path, flags, 0666, open_stream, &one);
  return one.stream;
}
SLUICE_ALIAS(FILE*, fopen64, fopen, (const char*, const char*));

// Libc changes the flags of a file that is to be appended to.
SLUICE_EXPORT FILE* fdopen(int fd, const char* mode) noexcept {
  if (may_keep() && sluice::is_memory(mode, 1) && *mode == 'a' && fails(settle(fd, SLUICE_SETTLE_RETIRE))) {
    return nullptr;
  }
  return SLUICE_NEXT(fdopen)(fd, mode);
}

// What is left in its buffer is for the old file; without a path it stays that file.
SLUICE_EXPORT FILE* freopen(const char* path, const char* mode, FILE* stream) {
  const int fd = stream == nullptr ? -1 : stream->_fileno;
  // Whatever its stages want: what is in the stream's buffer is theirs, and the number becomes another
  // file's.
  const bool known = static_cast<unsigned>(fd) < most_descriptors && files[fd].load() != nullptr;
  const Held before(known ? hold(fd) : nullptr);
  const int flags = is_active() ? flags_of(mode) : -1;
  File* file = flags < 0 ? nullptr
                         : begin(AT_FDCWD,
                                 path != nullptr ? path
                                 : before        ? before->path
                                                 : nullptr,
                                 flags);
  if (before) {
    std::fflush(stream);
    forget(fd);
  }
  Opening one{.path = path, .mode = mode, .flags = flags, .stream = stream};
  if (file == nullptr) {
    return open_stream(&one) < 0 ? nullptr : one.stream;
  }
  return act_open(*file, AT_FDCWD, path, flags, 0666, open_stream, &one) < 0 ? nullptr : one.stream;
}
SLUICE_ALIAS(FILE*, freopen64, freopen, (const char*, const char*, FILE*));

// The descriptor is taken out first: as soon as it is closed, another thread may be given the same number.
SLUICE_EXPORT int close(int fd) {
  cancel_point(fd);
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
  const auto wanted = static_cast<unsigned>(flags);
  const bool known = (wanted & ~(CLOSE_RANGE_CLOEXEC | CLOSE_RANGE_UNSHARE)) == 0;
  if ((wanted & CLOSE_RANGE_UNSHARE) != 0 && !is_single_threaded()) {
    settle_all(SLUICE_SETTLE_RETIRE);  // this thread has descriptors of its own then, the others keep theirs
  } else if (known && (wanted & CLOSE_RANGE_CLOEXEC) == 0 && first <= last) {
    forget(first, last);
  }
  return real.close_range(first, last, flags);
}
SLUICE_EXPORT void closefrom(int first) noexcept {
  forget(static_cast<unsigned>(first < 0 ? 0 : first), ~0U);
  real.closefrom(first);
}

SLUICE_EXPORT int dup(int fd) noexcept {
  settle(fd, SLUICE_SETTLE_SHARE);
  const int out = real.dup(fd);
  if (out >= 0 && out <= STDERR_FILENO) {
    settle(fd, SLUICE_SETTLE_RETIRE);
  }
  share(fd, out);
  return out;
}
SLUICE_EXPORT int dup2(int fd, int other) noexcept {
  before_dup(fd, other);
  const int out = real.dup2(fd, other);
  if (fd != other) {
    share(fd, out);
  }
  return out;
}
SLUICE_EXPORT int dup3(int fd, int other, int flags) noexcept {
  before_dup(fd, other);
  const int out = real.dup3(fd, other, flags);
  share(fd, out);
  return out;
}

SLUICE_EXPORT int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  if (const int flags = may_keep() ? settle_for(command, argument) : -1; flags >= 0) {
    const int error = settle(fd, flags);
    // What is kept back must not be written under other flags.
    if (command == F_SETFL && fails(error)) {
      return -1;
    }
  }
  int out = real.fcntl(fd, command, argument);
  if (command == F_GETFL && out >= 0 && (out & O_ASYNC) != 0 && may_keep() && is_our_lease(fd)) {
    out &= ~O_ASYNC;
  }
  if (command == F_SET_RW_HINT || command == F_SET_FILE_RW_HINT) {
    hear_lifetime(fd, command, argument, out);
  }
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
    if (out >= 0 && out <= STDERR_FILENO) {
      settle(fd, SLUICE_SETTLE_RETIRE);
    }
    share(fd, out);
  }
  return out;
}
SLUICE_ALIAS(int, fcntl64, fcntl, (int, int, ...));

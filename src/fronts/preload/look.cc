// Calls that pass no stage and look at files, or change what is said of them: what is kept back of such a
// file is written first. As long as nothing is, a look at a counter is all they cost.
#include <aio.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fronts/preload/elsewhere.h"
#include "fronts/preload/export.h"
#include "fronts/preload/file.h"
#include "fronts/preload/pending.h"
#include "pipeline/area.h"
#include "pipeline/tell.h"
#include "stages/smallfiles/standin.h"

using sluice::Area;
using sluice::preload::ask;
using sluice::preload::at_data;
using sluice::preload::by_name;
using sluice::preload::describe_name;
using sluice::preload::fails;
using sluice::preload::is_keeping;
using sluice::preload::may_keep;
using sluice::preload::put_down_all;
using sluice::preload::put_down_name;
using sluice::preload::settle;
using sluice::preload::settle_all;
using sluice::preload::settle_at;
using sluice::preload::settle_to_look;
using sluice::preload::settle_unmanaged;
using sluice::preload::stat_by;

namespace {

// What a call is told of data, which is named and no link.
int following(int flags) {
  return flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH);
}

template <class Look>
int look_at(struct stat& found, Look look) {
  return sluice::look_at_whole(look, found.st_dev, found.st_ino, found.st_size, found.st_mtim, found.st_ctim);
}

struct statx as_statx(const struct stat& found) {
  const auto time = [](const timespec& when) {
    struct statx_timestamp out {};
    out.tv_sec = when.tv_sec;
    out.tv_nsec = static_cast<std::uint32_t>(when.tv_nsec);
    return out;
  };
  struct statx out {};
  out.stx_mask = STATX_BASIC_STATS;
  out.stx_blksize = static_cast<std::uint32_t>(found.st_blksize);
  out.stx_nlink = static_cast<std::uint32_t>(found.st_nlink);
  out.stx_uid = found.st_uid;
  out.stx_gid = found.st_gid;
  out.stx_mode = static_cast<std::uint16_t>(found.st_mode);
  out.stx_ino = found.st_ino;
  out.stx_size = static_cast<std::uint64_t>(found.st_size);
  out.stx_blocks = static_cast<std::uint64_t>(found.st_blocks);
  out.stx_atime = time(found.st_atim);
  out.stx_mtime = time(found.st_mtim);
  out.stx_ctime = time(found.st_ctim);
  out.stx_dev_major = major(found.st_dev);
  out.stx_dev_minor = minor(found.st_dev);
  return out;
}

// Whether it changed in the time that it takes to write a small file on the slowest storage; its clock may be
// another.
bool is_recent(const struct stat& found) {
  constexpr time_t seconds = 60;
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now.tv_sec - found.st_ctim.tv_sec < seconds;
}

// What is said of a name, where `out` was said before: of the data where it is a link of ours.
template <class There, class Here, class IsLink>
int shown(int folder, const char* path, int out, There there, Here here, IsLink is_link) {
  const Area* area = sluice::this_area();
  const auto is_told = [&] { return out == 0 ? !is_link() : errno != ENOENT && errno != ELOOP; };
  if (area == nullptr || area->moves_made == 0 || is_told()) {
    return out;
  }
  const bool was_there = out == 0;
  out = at_data(folder, path, there, here);
  // One that was made just now may be ours, too.
  return is_told() || was_there || out != 0 ? out : at_data(folder, path, there, here);
}

// What is said of a file: again where something had been kept back. A link of ours is shown as the file that
// it stands for, and what has no link yet as well.
template <class Look>
int looked(int folder, const char* path, struct stat* found, Look look_once) {
  const auto look = [&] { return look_at(*found, look_once); };
  const bool kept = is_keeping();
  if (Area* area = sluice::this_area(); area != nullptr) {
    note_look(*area, folder, path);
  }
  int out = look();
  if (out != 0 && errno == ENOENT && (kept || is_keeping())) {
    if (describe_name(folder, path, *found)) {
      return 0;
    }
    const int error = put_down_name(folder, path);
    if (error != 0 && describe_name(folder, path, *found, true)) {
      return 0;
    }
    out = look();
  }
  // By one of the kernel's own names for descriptors.
  if (out == 0 && is_keeping() && sluice::is_standin(*found)) {
    settle_all(SLUICE_SETTLE_SHARE);
    out = look();
  }
  if (out == 0 && kept && S_ISREG(found->st_mode)) {
    if (is_recent(*found)) {
      put_down_name(folder, path);  // somebody may be in the middle of that
    }
    settle(found->st_dev, found->st_ino, 0);
    out = look();
  }
  const auto there = [&](const char* data) {
    if (kept) {
      settle(AT_FDCWD, data, true, 0);
    }
    return stat_by(AT_FDCWD, data, found, 0);
  };
  return shown(folder, path, out, there, look, [&] { return S_ISLNK(found->st_mode); });
}

// Files that are in memory get what their folder gave when they were made: they are put down before it
// changes.
int settle_rights(int folder, const char* path, int flags) {
  struct stat found {};
  if (stat_by(folder, path, &found, flags & (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) == 0 &&
      S_ISDIR(found.st_mode)) {
    put_down_all();
  }
  return settle_at(folder, path, flags);
}

// Who remembers what a folder gives looks again.
void note_list(const char* name) {
  if (may_keep() && std::strncmp(name, "system.posix_acl_", 17) == 0) {
    sluice::this_area()->folder_changes.fetch_add(1);
  }
}

// What is written by now is safe (the stage drop-unsynced).
void note_synced(int fd) {
  Area* area = sluice::this_area();
  if (area != nullptr && area->snapshots.load(std::memory_order_relaxed) != 0) {
    const int saved = errno;
    ask_keeper(*area, sluice::KeeperMessage::refresh_all, fd);
    errno = saved;
  }
}

}  // namespace

// Who sets a mode, an owner, a time or an attribute of a file in parts waits until it is together: what is
// written later would take privileges and times away again.
#define SLUICE_TOGETHER(folder, path)                                                    \
  if (sluice::is_parted() && fails(sluice::bring_together(folder, path))) [[unlikely]] { \
    return -1;                                                                           \
  }

// Something is done, and where that could be, what the program asked for.
#define SLUICE_BEFORE(result, name, parameters, arguments, throwing, ...) \
  SLUICE_EXPORT result name parameters throwing {                         \
    if (is_keeping() && fails(__VA_ARGS__)) [[unlikely]] {                \
      return -1;                                                          \
    }                                                                     \
    return SLUICE_NEXT(name) arguments;                                   \
  }

// The same of a file that is named. Where its name is a link of ours, `there` does it with `data`: who says
// that it follows no links means the file, and no such call works on links.
#define SLUICE_BEFORE_NAMED(result, name, parameters, arguments, folder, path, there, of_data, ...)        \
  SLUICE_EXPORT result name parameters noexcept {                                                          \
    SLUICE_TOGETHER(folder, path)                                                                          \
    if (is_keeping() && fails(__VA_ARGS__)) [[unlikely]] {                                                 \
      return -1;                                                                                           \
    }                                                                                                      \
    return at_data(                                                                                        \
        folder, path,                                                                                      \
        [&](const char* data) {                                                                            \
          return is_keeping() && fails(settle(AT_FDCWD, data, true, 0)) ? -1 : SLUICE_NEXT(there) of_data; \
        },                                                                                                 \
        [&] { return by_name(folder, path, [&] { return SLUICE_NEXT(name) arguments; }); });               \
  }

// The same where it has to be known also while nothing is kept back yet.
#define SLUICE_RETIRES(result, name, parameters, arguments, throwing, ...) \
  SLUICE_EXPORT result name parameters throwing {                          \
    if (may_keep()) [[unlikely]] {                                         \
      __VA_ARGS__;                                                         \
    }                                                                      \
    return SLUICE_NEXT(name) arguments;                                    \
  }

// An attribute is set or removed, which may be an access list.
#define SLUICE_LISTS(function, parameters, arguments, folder, path, flags, there, of_data)                 \
  SLUICE_EXPORT int function parameters noexcept {                                                         \
    SLUICE_TOGETHER(folder, path)                                                                          \
    if (is_keeping() && fails(settle_rights(folder, path, flags))) [[unlikely]] {                          \
      return -1;                                                                                           \
    }                                                                                                      \
    const int out = at_data(                                                                               \
        folder, path,                                                                                      \
        [&](const char* data) {                                                                            \
          return is_keeping() && fails(settle(AT_FDCWD, data, true, 0)) ? -1 : SLUICE_NEXT(there) of_data; \
        },                                                                                                 \
        [&] { return by_name(folder, path, [&] { return SLUICE_NEXT(function) arguments; }); });           \
    note_list(name);                                                                                       \
    return out;                                                                                            \
  }
#define SLUICE_LISTS_OPEN(function, parameters, arguments)                          \
  SLUICE_EXPORT int function parameters noexcept {                                  \
    SLUICE_TOGETHER(fd, "")                                                         \
    if (is_keeping() && fails(settle_rights(fd, "", AT_EMPTY_PATH))) [[unlikely]] { \
      return -1;                                                                    \
    }                                                                               \
    const int out = SLUICE_NEXT(function) arguments;                                \
    note_list(name);                                                                \
    return out;                                                                     \
  }

// What is said of a file. The forms with a version are those of programs that were built long ago.
SLUICE_EXPORT int stat(const char* path, struct stat* out) noexcept {
  return looked(AT_FDCWD, path, out, [&] { return SLUICE_NEXT(stat)(path, out); });
}
SLUICE_EXPORT int lstat(const char* path, struct stat* out) noexcept {
  return looked(AT_FDCWD, path, out, [&] { return SLUICE_NEXT(lstat)(path, out); });
}
SLUICE_EXPORT int fstatat(int folder, const char* path, struct stat* out, int flags) noexcept {
  return looked(folder, path, out, [&] { return SLUICE_NEXT(fstatat)(folder, path, out, flags); });
}
SLUICE_EXPORT int fstat(int fd, struct stat* out) noexcept {
  const bool keeping = is_keeping();
  if (keeping && ask(fd, SLUICE_SETTLE_STAT, out, sizeof *out) == 1) {
    return 0;
  }
  const auto look = [&] { return look_at(*out, [&] { return SLUICE_NEXT(fstat)(fd, out); }); };
  const int result = look();
  return keeping && result == 0 && settle_unmanaged(fd, *out) ? look() : result;
}
SLUICE_ALIAS(int, stat64, stat, (const char*, struct stat64*)) noexcept;
SLUICE_ALIAS(int, lstat64, lstat, (const char*, struct stat64*)) noexcept;
SLUICE_ALIAS(int, fstatat64, fstatat, (int, const char*, struct stat64*, int)) noexcept;
SLUICE_ALIAS(int, fstat64, fstat, (int, struct stat64*)) noexcept;
SLUICE_EXPORT int __xstat(int, const char* path, struct stat* out) noexcept {
  return looked(AT_FDCWD, path, out, [&] { return stat_by(AT_FDCWD, path, out, 0); });
}
SLUICE_EXPORT int __lxstat(int, const char* path, struct stat* out) noexcept {
  return looked(AT_FDCWD, path, out, [&] { return stat_by(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW); });
}
SLUICE_EXPORT int __fxstatat(int, int folder, const char* path, struct stat* out, int flags) noexcept {
  return looked(folder, path, out, [&] { return stat_by(folder, path, out, flags); });
}
SLUICE_EXPORT int __fxstat(int, int fd, struct stat* out) noexcept {
  return fstat(fd, out);
}
SLUICE_ALIAS(int, __xstat64, __xstat, (int, const char*, struct stat64*)) noexcept;
SLUICE_ALIAS(int, __lxstat64, __lxstat, (int, const char*, struct stat64*)) noexcept;
SLUICE_ALIAS(int, __fxstatat64, __fxstatat, (int, int, const char*, struct stat64*, int)) noexcept;
SLUICE_ALIAS(int, __fxstat64, __fxstat, (int, int, struct stat64*)) noexcept;
SLUICE_EXPORT int statx(int folder, const char* path, int flags, unsigned mask, struct statx* out) noexcept {
  if (const int error = is_keeping() ? settle_at(folder, path, flags) : 0; error != 0) {
    struct stat kept {};
    if (describe_name(folder, path, kept, true)) {
      *out = as_statx(kept);
      return 0;
    }
    errno = error;
    return -1;
  }
  if (Area* area = sluice::this_area(); area != nullptr) {
    note_look(*area, folder, path);
  }
  dev_t device = 0;
  ino_t inode = 0;
  const auto look = [&] {
    const int said = SLUICE_NEXT(statx)(folder, path, flags, mask, out);
    device = said == 0 ? makedev(out->stx_dev_major, out->stx_dev_minor) : 0;
    inode = said == 0 ? out->stx_ino : 0;
    return said;
  };
  const auto here = [&] {
    return sluice::look_at_whole(look, device, inode, out->stx_size, out->stx_mtime, out->stx_ctime);
  };
  const auto there = [&](const char* data) {
    if (is_keeping()) {
      settle(AT_FDCWD, data, true, 0);
    }
    return SLUICE_NEXT(statx)(AT_FDCWD, data, following(flags), mask, out);
  };
  return shown(folder, path, here(), there, here, [&] { return S_ISLNK(out->stx_mode); });
}

// Modes, owners, times, attributes.
SLUICE_BEFORE_NAMED(int, chmod, (const char* path, mode_t mode), (path, mode), AT_FDCWD, path, chmod,
                    (data, mode), settle_rights(AT_FDCWD, path, 0))
SLUICE_EXPORT int fchmod(int fd, mode_t mode) noexcept {
  if ((mode & (S_ISUID | S_ISGID)) != 0) {
    SLUICE_TOGETHER(fd, "")
  }
  return is_keeping() && fails(settle_rights(fd, "", AT_EMPTY_PATH)) ? -1 : SLUICE_NEXT(fchmod)(fd, mode);
}
SLUICE_BEFORE_NAMED(int, fchmodat, (int folder, const char* path, mode_t mode, int flags),
                    (folder, path, mode, flags), folder, path, fchmodat,
                    (AT_FDCWD, data, mode, following(flags)), settle_rights(folder, path, flags))
SLUICE_BEFORE_NAMED(int, chown, (const char* path, uid_t user, gid_t group), (path, user, group), AT_FDCWD,
                    path, chown, (data, user, group), settle_rights(AT_FDCWD, path, 0))
SLUICE_BEFORE_NAMED(int, lchown, (const char* path, uid_t user, gid_t group), (path, user, group), AT_FDCWD,
                    path, chown, (data, user, group), settle_rights(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW))
SLUICE_BEFORE(int, fchown, (int fd, uid_t user, gid_t group), (fd, user, group), noexcept,
              settle_rights(fd, "", AT_EMPTY_PATH))
SLUICE_BEFORE_NAMED(int, fchownat, (int folder, const char* path, uid_t user, gid_t group, int flags),
                    (folder, path, user, group, flags), folder, path, fchownat,
                    (AT_FDCWD, data, user, group, following(flags)), settle_rights(folder, path, flags))
SLUICE_BEFORE_NAMED(int, utime, (const char* path, const utimbuf* times), (path, times), AT_FDCWD, path,
                    utime, (data, times), settle(AT_FDCWD, path, true, 0))
SLUICE_BEFORE_NAMED(int, utimes, (const char* path, const timeval* times), (path, times), AT_FDCWD, path,
                    utimes, (data, times), settle(AT_FDCWD, path, true, 0))
SLUICE_BEFORE_NAMED(int, lutimes, (const char* path, const timeval* times), (path, times), AT_FDCWD, path,
                    utimes, (data, times), settle(AT_FDCWD, path, false, 0))
SLUICE_BEFORE(int, futimes, (int fd, const timeval* times), (fd, times), noexcept, settle(fd, 0))
SLUICE_BEFORE_NAMED(int, futimesat, (int folder, const char* path, const timeval* times),
                    (folder, path, times), folder, path, utimes, (data, times), settle_at(folder, path, 0))
SLUICE_BEFORE(int, futimens, (int fd, const timespec* times), (fd, times), noexcept, settle(fd, 0))
SLUICE_BEFORE_NAMED(int, utimensat, (int folder, const char* path, const timespec* times, int flags),
                    (folder, path, times, flags), folder, path, utimensat,
                    (AT_FDCWD, data, times, following(flags)), settle_at(folder, path, flags))
SLUICE_LISTS(setxattr, (const char* path, const char* name, const void* value, size_t size, int flags),
             (path, name, value, size, flags), AT_FDCWD, path, 0, setxattr, (data, name, value, size, flags))
SLUICE_LISTS(lsetxattr, (const char* path, const char* name, const void* value, size_t size, int flags),
             (path, name, value, size, flags), AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, setxattr,
             (data, name, value, size, flags))
SLUICE_LISTS_OPEN(fsetxattr, (int fd, const char* name, const void* value, size_t size, int flags),
                  (fd, name, value, size, flags))
SLUICE_LISTS(removexattr, (const char* path, const char* name), (path, name), AT_FDCWD, path, 0, removexattr,
             (data, name))
SLUICE_LISTS(lremovexattr, (const char* path, const char* name), (path, name), AT_FDCWD, path,
             AT_SYMLINK_NOFOLLOW, removexattr, (data, name))
SLUICE_LISTS_OPEN(fremovexattr, (int fd, const char* name), (fd, name))

// Locks, by which processes agree who may look.
SLUICE_EXPORT int flock(int fd, int operation) noexcept {
  const bool done =
      is_keeping() && ask(fd, SLUICE_SETTLE_LOCK, nullptr, static_cast<std::size_t>(operation)) == 1;
  return done ? 0 : SLUICE_NEXT(flock)(fd, operation);
}
SLUICE_BEFORE(int, lockf, (int fd, int command, off_t length), (fd, command, length), ,
              settle_to_look(fd, SLUICE_SETTLE_LOCK | SLUICE_SETTLE_POSITION))
SLUICE_BEFORE(int, lockf64, (int fd, int command, off64_t length), (fd, command, length), ,
              settle_to_look(fd, SLUICE_SETTLE_LOCK | SLUICE_SETTLE_POSITION))

// Others who read and write from now on; hints.cc has memory.
SLUICE_RETIRES(int, aio_read, (aiocb * request), (request), noexcept,
               settle(request->aio_fildes, SLUICE_SETTLE_RETIRE))
SLUICE_RETIRES(int, aio_write, (aiocb * request), (request), noexcept,
               settle(request->aio_fildes, SLUICE_SETTLE_RETIRE))
SLUICE_RETIRES(int, aio_fsync, (int operation, aiocb* request), (operation, request), noexcept,
               settle(request->aio_fildes, SLUICE_SETTLE_RETIRE))
SLUICE_RETIRES(int, lio_listio, (int mode, aiocb* const list[], int count, sigevent* event),
               (mode, list, count, event), noexcept, settle_all(SLUICE_SETTLE_RETIRE))
SLUICE_ALIAS(int, aio_read64, aio_read, (aiocb64*)) noexcept;
SLUICE_ALIAS(int, aio_write64, aio_write, (aiocb64*)) noexcept;
SLUICE_ALIAS(int, aio_fsync64, aio_fsync, (int, aiocb64*)) noexcept;
SLUICE_ALIAS(int, lio_listio64, lio_listio, (int, aiocb64* const[], int, sigevent*)) noexcept;
// A descriptor that is passed on may be any.
SLUICE_RETIRES(ssize_t, sendmsg, (int fd, const msghdr* message, int flags), (fd, message, flags), ,
               sluice::is_memory(message, sizeof *message) && message->msg_controllen > 0
                   ? void(settle_all(SLUICE_SETTLE_RETIRE))
                   : void())
SLUICE_RETIRES(int, sendmmsg, (int fd, mmsghdr* messages, unsigned count, int flags),
               (fd, messages, count, flags), ,
               sluice::is_memory(messages, count * sizeof *messages) &&
                       std::any_of(messages, messages + count,
                                   [](const mmsghdr& one) { return one.msg_hdr.msg_controllen > 0; })
                   ? void(settle_all(SLUICE_SETTLE_RETIRE))
                   : void())

// To the device.
SLUICE_RETIRES(void, sync, (), (), noexcept, settle_all(0), put_down_all(), note_synced(-1))
SLUICE_EXPORT int syncfs(int fd) noexcept {
  int error = 0;
  if (may_keep()) [[unlikely]] {
    error = sluice::preload::settle_beside(fd);
    put_down_all();
    note_synced(fd);
  }
  const int out = SLUICE_NEXT(syncfs)(fd);
  return fails(error) ? -1 : out;
}
// By what a file is, and not by its name: any can be meant.
SLUICE_RETIRES(int, open_by_handle_at, (int folder, file_handle* handle, int flags), (folder, handle, flags),
               , settle_all(SLUICE_SETTLE_RETIRE), put_down_all())
SLUICE_BEFORE(int, sync_file_range, (int fd, off64_t offset, off64_t length, unsigned flags),
              (fd, offset, length, flags), , settle(fd, 0))

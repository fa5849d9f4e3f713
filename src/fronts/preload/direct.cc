// syscall(), by which programs make calls for which libc had no function when they were written: what libuv
// does with files, for one. Those that concern files are made by our functions of the same kind, so that
// nothing passes unseen what stages keep back.
#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "fronts/preload/elsewhere.h"
#include "fronts/preload/export.h"
#include "fronts/preload/file.h"
#include "fronts/preload/pending.h"
#include "fronts/preload/users.h"
#include "pipeline/area.h"
#include "pipeline/process.h"

using sluice::AreaMove;
using sluice::FoundMove;
using sluice::preload::act_open;
using sluice::preload::after_fork;
using sluice::preload::after_fork_in_child;
using sluice::preload::at_data;
using sluice::preload::before_fork;
using sluice::preload::begin;
using sluice::preload::by_name;
using sluice::preload::elsewhere;
using sluice::preload::fails;
using sluice::preload::File;
using sluice::preload::is_active;
using sluice::preload::is_single_threaded;
using sluice::preload::may_keep;
using sluice::preload::NameHold;
using sluice::preload::open_through;
using sluice::preload::put_down_all;
using sluice::preload::put_down_name;
using sluice::preload::real;
using sluice::preload::settle_all;
using sluice::preload::within;

extern "C" ssize_t getdents64(int, void*, size_t) noexcept;

namespace {

constexpr long number_of_fchmodat2 = 452;  // newer than our libc's list

// What was passed to syscall(), as whoever takes it wants it.
struct Argument {
  long value;
  // NOLINTNEXTLINE(google-explicit-constructor): the parameter says what it is
  template <class T>
  operator T*() const {
    return reinterpret_cast<T*>(value);
  }
  // NOLINTNEXTLINE(google-explicit-constructor)
  template <class T>
  requires std::is_integral_v<T>
  operator T() const { return static_cast<T>(value); }
};

long plainly(long number, const Argument (&of)[6]) {
  return real.syscall(number, of[0].value, of[1].value, of[2].value, of[3].value, of[4].value, of[5].value);
}

// Others read and write files that are open, from now on.
long with_plain_files(long number, const Argument (&of)[6]) {
  if (may_keep()) {
    settle_all(SLUICE_SETTLE_RETIRE);
    put_down_all();
  }
  return plainly(number, of);
}

long with_user(sluice::preload::Users after, long number, const Argument (&of)[6]) {
  const sluice::preload::BecomingUser becoming(after);
  return becoming.may() ? with_plain_files(number, of) : -1;
}

// fchmodat2(), for which libc has no function.
long change_mode(const Argument (&of)[6]) {
  const auto there = [&](const char* data) {
    const Argument of_data[6] = {{AT_FDCWD}, {reinterpret_cast<long>(data)},
                                 of[2],      {of[3].value & ~long{AT_SYMLINK_NOFOLLOW}},
                                 {},         {}};
    return with_plain_files(number_of_fchmodat2, of_data);
  };
  return at_data(of[0], of[1], there, [&] { return with_plain_files(number_of_fchmodat2, of); });
}

// A child that libc does not know of. One that shares our memory would need more.
long forked(long number, const Argument (&of)[6]) {
  if (!is_active()) {
    return plainly(number, of);
  }
  before_fork();
  const long out = plainly(number, of);
  if (out == 0) {
    sluice::begin_child();
    after_fork_in_child();
  } else {
    after_fork();
  }
  return out;
}

// The file that is elsewhere whose link a path leads to in the way that is told.
FoundMove elsewhere_as_told(int folder, const char* path, std::uint64_t resolve) {
  open_how way{};
  way.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  way.resolve = resolve;
  const auto fd = static_cast<int>(real.syscall(SYS_openat2, folder, path, &way, sizeof way));
  char own[64];
  char link[sizeof(AreaMove::path)];
  std::snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
  const long length = fd < 0 ? -1 : real.syscall(SYS_readlinkat, AT_FDCWD, own, link, sizeof link - 1);
  if (fd >= 0) {
    real.close(fd);
  }
  link[length > 0 ? length : 0] = 0;
  return length > 0 ? elsewhere(AT_FDCWD, link) : FoundMove();
}

// The kernel opens it, because only it knows how. It must not see a link where the program has a file.
long open_plainly(const Argument (&of)[6]) {
  const open_how* how = of[2];
  const sluice::Area* area = sluice::this_area();
  // It may come home meanwhile.
  for (int i = 0; i < sluice::most_looks && area != nullptr && area->moves_live != 0; ++i) {
    const int saved = errno;
    const FoundMove found = elsewhere_as_told(of[0], of[1], how->resolve);
    errno = saved;
    const bool placed = found && is_placed(*found.row);
    if (!found || (!placed && (how->flags & O_EXCL) != 0)) {
      break;
    }
    open_how there = *how;
    there.resolve = 0;
    if (!placed && (there.flags & O_CREAT) != 0) {
      there.flags &= ~std::uint64_t{O_CREAT};
      there.mode = 0;
    }
    const auto fd =
        static_cast<int>(real.syscall(SYS_openat2, AT_FDCWD, found.data.data(), &there, sizeof there));
    if (placed || (found.is_still() && (fd >= 0 || errno != ENOENT))) {
      return fd;
    }
    if (fd >= 0) {
      real.close(fd);
    }
    errno = saved;
  }
  const NameHold hold = NameHold::for_open(of[0], of[1], static_cast<int>(how->flags));
  if (hold.refuses()) {
    return -1;
  }
  if (how->resolve == 0) {
    const int saved = errno;
    if (const int fd = open_through(of[0], of[1], static_cast<int>(how->flags)); fd >= 0 || errno != ENOENT) {
      return fd;
    }
    errno = saved;
  }
  return by_name(of[0], of[1], [&] { return plainly(SYS_openat2, of); });
}

// Stages see the open, and what is read and written.
long open_as_told(const Argument (&of)[6]) {
  const int folder = of[0];
  const char* path = of[1];
  const open_how* how = of[2];
  const bool told = path != nullptr && how != nullptr && of[3].value >= static_cast<long>(sizeof *how);
  if (told && (how->resolve & RESOLVE_IN_ROOT) != 0) {
    put_down_all();  // the same path leads elsewhere
  }
  if (fails(put_down_name(folder, told ? path : nullptr))) {
    return -1;
  }
  File* file = told ? begin(folder, path, static_cast<int>(how->flags)) : nullptr;
  if (file == nullptr) {
    return told ? open_plainly(of) : plainly(SYS_openat2, of);
  }
  return act_open(
      *file, folder, path, static_cast<int>(how->flags), static_cast<mode_t>(how->mode),
      [](void* context) -> std::int64_t { return open_plainly(*static_cast<const Argument(*)[6]>(context)); },
      const_cast<Argument(*)[6]>(&of));
}

// `state` is whether the thread could be cancelled before; null where nobody else is there to do that.
long by_number(long number, const Argument (&of)[6], const int* state) {
  const auto user = [&](int which) { return static_cast<uid_t>(of[which].value); };
  switch (number) {
    case SYS_openat:
      return openat(of[0], of[1], of[2], static_cast<mode_t>(of[3]));
    case SYS_openat2:
      return open_as_told(of);
    case SYS_close:
      return close(of[0]);
    case SYS_close_range:
      return close_range(of[0], of[1], of[2]);
    case SYS_dup:
      return dup(of[0]);
    case SYS_dup3:
      return dup3(of[0], of[1], of[2]);
    case SYS_fcntl:
      return fcntl(of[0], of[1], static_cast<void*>(of[2]));
    case SYS_read:
      return read(of[0], of[1], of[2]);
    case SYS_pread64:
      return pread(of[0], of[1], of[2], of[3]);
    case SYS_readv:
      return readv(of[0], of[1], of[2]);
    case SYS_preadv:
      return preadv(of[0], of[1], of[2], of[3]);
    case SYS_preadv2:
      return preadv2(of[0], of[1], of[2], of[3], of[5]);
    case SYS_write:
      return write(of[0], of[1], of[2]);
    case SYS_pwrite64:
      return pwrite(of[0], of[1], of[2], of[3]);
    case SYS_writev:
      return writev(of[0], of[1], of[2]);
    case SYS_pwritev:
      return pwritev(of[0], of[1], of[2], of[3]);
    case SYS_pwritev2:
      return pwritev2(of[0], of[1], of[2], of[3], of[5]);
    case SYS_lseek:
      return lseek(of[0], of[1], of[2]);
    case SYS_fsync:
      return fsync(of[0]);
    case SYS_fdatasync:
      return fdatasync(of[0]);
    case SYS_ftruncate:
      return ftruncate(of[0], of[1]);
    case SYS_truncate:
      return truncate(of[0], of[1]);
    case SYS_fallocate:
      return fallocate(of[0], of[1], of[2], of[3]);
    case SYS_copy_file_range:
      return copy_file_range(of[0], of[1], of[2], of[3], of[4], of[5]);
    case SYS_sendfile:
      return sendfile(of[0], of[1], of[2], of[3]);
    case SYS_splice:
      return splice(of[0], of[1], of[2], of[3], of[4], of[5]);
    case SYS_mmap:
      return reinterpret_cast<long>(mmap(of[0], of[1], of[2], of[3], of[4], of[5]));
    case SYS_statx:
      return statx(of[0], of[1], of[2], of[3], of[4]);
    case SYS_newfstatat:
      return fstatat(of[0], of[1], of[2], of[3]);
    case SYS_fstat:
      return fstat(of[0], of[1]);
    case SYS_faccessat:
      return faccessat(of[0], of[1], of[2], 0);
    case SYS_faccessat2:
      return faccessat(of[0], of[1], of[2], of[3]);
    case SYS_readlinkat:
      return readlinkat(of[0], of[1], of[2], of[3]);
    case SYS_name_to_handle_at:
      return name_to_handle_at(of[0], of[1], of[2], of[3], of[4]);
    case SYS_mknodat:
      return mknodat(of[0], of[1], of[2], of[3]);
    case SYS_mkdirat:
      return mkdirat(of[0], of[1], of[2]);
    case SYS_renameat2:
      return renameat2(of[0], of[1], of[2], of[3], of[4]);
    case SYS_linkat:
      return linkat(of[0], of[1], of[2], of[3], of[4]);
    case SYS_symlinkat:
      return symlinkat(of[0], of[1], of[2]);
    case SYS_unlinkat:
      return unlinkat(of[0], of[1], of[2]);
    case SYS_fchmod:
      return fchmod(of[0], of[1]);
    case SYS_fchmodat:
      return fchmodat(of[0], of[1], of[2], 0);
    case SYS_fchown:
      return fchown(of[0], of[1], of[2]);
    case SYS_fchownat:
      return fchownat(of[0], of[1], of[2], of[3], of[4]);
    case SYS_utimensat:
      return utimensat(of[0], of[1], of[2], of[3]);
    case SYS_getdents64:
      return getdents64(of[0], of[1], of[2]);
    case SYS_sendmsg:
      return sendmsg(of[0], of[1], of[2]);
    case SYS_sendmmsg:
      return sendmmsg(of[0], of[1], of[2], of[3]);
    case SYS_execveat:
      return execveat(of[0], of[1], of[2], of[3], of[4]);
    case SYS_open_by_handle_at:
      return open_by_handle_at(of[0], of[1], of[2]);
    case SYS_sync:
      sync();
      return 0;
    case SYS_syncfs:
      return syncfs(of[0]);
    case SYS_sync_file_range:
      return sync_file_range(of[0], of[1], of[2], of[3]);
    case SYS_flock:
      return flock(of[0], of[1]);
    case SYS_ioctl:
      return ioctl(of[0], of[1], static_cast<void*>(of[2]));
    case SYS_prlimit64:
      return prlimit(of[0], static_cast<__rlimit_resource>(of[1].value), of[2], of[3]);
    case SYS_setxattr:
      return setxattr(of[0], of[1], of[2], of[3], of[4]);
    case SYS_lsetxattr:
      return lsetxattr(of[0], of[1], of[2], of[3], of[4]);
    case SYS_getxattr:
      return getxattr(of[0], of[1], of[2], of[3]);
    case SYS_lgetxattr:
      return lgetxattr(of[0], of[1], of[2], of[3]);
    case SYS_listxattr:
      return listxattr(of[0], of[1], of[2]);
    case SYS_llistxattr:
      return llistxattr(of[0], of[1], of[2]);
    case SYS_removexattr:
      return removexattr(of[0], of[1]);
    case SYS_lremovexattr:
      return lremovexattr(of[0], of[1]);
    case SYS_fsetxattr:
    case SYS_fgetxattr:
    case SYS_flistxattr:
    case SYS_fremovexattr:
      return with_plain_files(number, of);
    case number_of_fchmodat2:
      return change_mode(of);
    // Whoever becomes another user: see users.cc. Not by libc's, which do it for all threads.
    case SYS_setuid:
      return with_user(sluice::preload::after_setuid(user(0)), number, of);
    case SYS_setreuid:
      return with_user(sluice::preload::after_setreuid(user(0), user(1)), number, of);
    case SYS_setresuid:
      return with_user({user(0), user(1), user(2)}, number, of);
    case SYS_setgid:
    case SYS_setregid:
    case SYS_setresgid:
    case SYS_setfsuid:
    case SYS_setfsgid:
    case SYS_setgroups:
      return with_plain_files(number, of);
    case SYS_chroot:
      return chroot(of[0]);
    case SYS_execve:
      return execve(of[0], of[1], of[2]);
    case SYS_exit_group:
      _exit(of[0]);
    case SYS_clone:
      return (of[0].value & CLONE_VM) == 0 && of[1].value == 0 ? forked(number, of) : plainly(number, of);
    case SYS_io_uring_setup:
    case SYS_io_uring_enter:
    case SYS_io_submit:
      return with_plain_files(number, of);
#ifdef SYS_open  // those of older machines
    case SYS_setrlimit:
      return setrlimit(static_cast<__rlimit_resource>(of[0].value), of[1]);
    case SYS_vfork:  // as the function: a child that shares our memory would change our tables
      return forked(SYS_fork, of);
    case SYS_open:
      return open(of[0], of[1], static_cast<mode_t>(of[2]));
    case SYS_fork:
      return forked(number, of);
    case SYS_creat:
      return creat(of[0], of[1]);
    case SYS_dup2:
      return dup2(of[0], of[1]);
    case SYS_stat:
      return stat(of[0], of[1]);
    case SYS_lstat:
      return lstat(of[0], of[1]);
    case SYS_access:
      return access(of[0], of[1]);
    case SYS_readlink:
      return readlink(of[0], of[1], of[2]);
    case SYS_mknod:
      return mknod(of[0], of[1], of[2]);
    case SYS_mkdir:
      return mkdir(of[0], of[1]);
    case SYS_rmdir:
      return rmdir(of[0]);
    case SYS_rename:
      return rename(of[0], of[1]);
    case SYS_renameat:
      return renameat(of[0], of[1], of[2], of[3]);
    case SYS_link:
      return link(of[0], of[1]);
    case SYS_symlink:
      return symlink(of[0], of[1]);
    case SYS_unlink:
      return unlink(of[0]);
    case SYS_chmod:
      return chmod(of[0], of[1]);
    case SYS_chown:
      return chown(of[0], of[1], of[2]);
    case SYS_lchown:
      return lchown(of[0], of[1], of[2]);
    case SYS_utime:
      return utime(of[0], of[1]);
    case SYS_utimes:
      return utimes(of[0], of[1]);
    case SYS_futimesat:
      return futimesat(of[0], of[1], of[2]);
    case SYS_getdents:
      return with_plain_files(number, of);
#endif
    default:
      // It may wait for long, and who may be cancelled at any time is, here as well.
      if (state == nullptr) {
        return plainly(number, of);
      }
      pthread_setcancelstate(*state, nullptr);
      const long out = plainly(number, of);
      pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
      return out;
  }
}

// Whether functions of somebody else stand between ours and libc's.
bool others_stand_in() {
  static std::atomic<int> known = -1;
  int out = known.load(std::memory_order_relaxed);
  if (out < 0) {
    Dl_info libc{};
    Dl_info found{};
    out = 0;
    if (dladdr(reinterpret_cast<void*>(&gnu_get_libc_version), &libc) != 0) {
      for (void* one : {reinterpret_cast<void*>(real.open), reinterpret_cast<void*>(real.close),
                        reinterpret_cast<void*>(real.read), reinterpret_cast<void*>(real.write),
                        reinterpret_cast<void*>(real.pread), reinterpret_cast<void*>(real.pwrite),
                        reinterpret_cast<void*>(real.lseek), reinterpret_cast<void*>(real.fsync)}) {
        out |= dladdr(one, &found) != 0 && found.dli_fbase != libc.dli_fbase ? 1 : 0;
      }
    }
    const char* preloaded = getenv("LD_PRELOAD");
    out |= preloaded != nullptr && std::strpbrk(preloaded, ": ") != nullptr ? 1 : 0;
    known.store(out, std::memory_order_relaxed);
  }
  return out != 0;
}

}  // namespace

SLUICE_EXPORT long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  Argument of[6];
  for (Argument& one : of) {
    one.value = va_arg(list, long);
  }
  va_end(list);
  // A library that is preloaded beside us may make its calls by number: those of ours come back here, and
  // have passed the stages already.
  const bool back = within.calls + within.numbers > 0;
  if (!is_active() || (back && others_stand_in())) {
    return plainly(number, of);
  }
  // Functions of libc may be places at which a thread is cancelled; this is none.
  const bool alone = is_single_threaded();
  int state = PTHREAD_CANCEL_ENABLE;
  if (!alone) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  }
  ++within.numbers;
  const long out = by_number(number, of, alone ? nullptr : &state);
  within.numbers -= within.numbers > 0 ? 1 : 0;
  if (!alone) {
    pthread_setcancelstate(state, nullptr);
  }
  return out;
}

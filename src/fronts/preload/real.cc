#include "fronts/preload/real.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "fronts/preload/export.h"

// What all of this library calls syscall(): the linker has it come here (--wrap), because the one of that
// name is the program's (direct.cc).
extern "C" long __wrap_syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long of[6];
  for (long& one : of) {
    one = va_arg(list, long);
  }
  va_end(list);
#ifdef __x86_64__
  register long fourth asm("r10") = of[3];
  register long fifth asm("r8") = of[4];
  register long sixth asm("r9") = of[5];
  long out = number;
  asm volatile("syscall"
               : "+a"(out)
               : "D"(of[0]), "S"(of[1]), "d"(of[2]), "r"(fourth), "r"(fifth), "r"(sixth)
               : "rcx", "r11", "memory");
  if (out < 0 && out > -4096) {
    errno = static_cast<int>(-out);
    return -1;
  }
  return out;
#else
  return SLUICE_NEXT(syscall)(number, of[0], of[1], of[2], of[3], of[4], of[5]);
#endif
}

namespace sluice::preload {
namespace {

template <class T>
T as(long value) {
  return static_cast<T>(value);
}

mode_t mode_of(int flags, va_list list) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
}

int raw_openat(int folder, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return as<int>(syscall(SYS_openat, folder, path, flags, mode));
}
int raw_open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return raw_openat(AT_FDCWD, path, flags, mode);
}
int raw_close(int fd) {
  return as<int>(syscall(SYS_close, fd));
}
int raw_close_range(unsigned first, unsigned last, int flags) {
  return as<int>(syscall(SYS_close_range, first, last, flags));
}
ssize_t raw_read(int fd, void* data, size_t length) {
  return syscall(SYS_read, fd, data, length);
}
ssize_t raw_pread(int fd, void* data, size_t length, off_t offset) {
  return syscall(SYS_pread64, fd, data, length, offset);
}
ssize_t raw_readv(int fd, const iovec* parts, int count) {
  return syscall(SYS_readv, fd, parts, count);
}
ssize_t raw_preadv(int fd, const iovec* parts, int count, off_t offset) {
  return syscall(SYS_preadv, fd, parts, count, offset, 0L);
}
ssize_t raw_preadv2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  return syscall(SYS_preadv2, fd, parts, count, offset, 0L, flags);
}
ssize_t raw_write(int fd, const void* data, size_t length) {
  return syscall(SYS_write, fd, data, length);
}
ssize_t raw_pwrite(int fd, const void* data, size_t length, off_t offset) {
  return syscall(SYS_pwrite64, fd, data, length, offset);
}
ssize_t raw_writev(int fd, const iovec* parts, int count) {
  return syscall(SYS_writev, fd, parts, count);
}
ssize_t raw_pwritev(int fd, const iovec* parts, int count, off_t offset) {
  return syscall(SYS_pwritev, fd, parts, count, offset, 0L);
}
ssize_t raw_pwritev2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  return syscall(SYS_pwritev2, fd, parts, count, offset, 0L, flags);
}
off_t raw_lseek(int fd, off_t offset, int whence) {
  return syscall(SYS_lseek, fd, offset, whence);
}
int raw_fsync(int fd) {
  return as<int>(syscall(SYS_fsync, fd));
}
int raw_fdatasync(int fd) {
  return as<int>(syscall(SYS_fdatasync, fd));
}
int raw_ftruncate(int fd, off_t size) {
  return as<int>(syscall(SYS_ftruncate, fd, size));
}
int raw_truncate(const char* path, off_t size) {
  return as<int>(syscall(SYS_truncate, path, size));
}
int raw_fallocate(int fd, int mode, off_t offset, off_t length) {
  return as<int>(syscall(SYS_fallocate, fd, mode, offset, length));
}
int raw_posix_fallocate(int fd, off_t offset, off_t length) {
  return raw_fallocate(fd, 0, offset, length) == 0 ? 0 : errno;
}
ssize_t raw_copy_file_range(int in, off_t* in_offset, int out, off_t* out_offset, size_t length,
                            unsigned flags) {
  return syscall(SYS_copy_file_range, in, in_offset, out, out_offset, length, flags);
}
ssize_t raw_sendfile(int out, int in, off_t* offset, size_t length) {
  return syscall(SYS_sendfile, out, in, offset, length);
}
ssize_t raw_splice(int in, off_t* in_offset, int out, off_t* out_offset, size_t length, unsigned flags) {
  return syscall(SYS_splice, in, in_offset, out, out_offset, length, flags);
}
int raw_ioctl(int fd, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  const long argument = va_arg(list, long);
  va_end(list);
  return as<int>(syscall(SYS_ioctl, fd, request, argument));
}
int raw_dup(int fd) {
  return as<int>(syscall(SYS_dup, fd));
}
int raw_dup3(int fd, int other, int flags) {
  return as<int>(syscall(SYS_dup3, fd, other, flags));
}
int raw_dup2(int fd, int other) {
  return fd == other ? (syscall(SYS_fcntl, fd, F_GETFD) < 0 ? -1 : fd) : raw_dup3(fd, other, 0);
}
int raw_fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  const long argument = va_arg(list, long);
  va_end(list);
  return as<int>(syscall(SYS_fcntl, fd, command, argument));
}
// stdio needs libc: whoever calls it before our constructor makes us look it up early.
template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}
FILE* early_fopen(const char* path, const char* mode) {
  return next<decltype(real.fopen)>("fopen")(path, mode);
}
FILE* early_freopen(const char* path, const char* mode, FILE* file) {
  return next<decltype(real.freopen)>("freopen")(path, mode, file);
}
int early_mkostemps(char* path, int suffix, int flags) {
  return next<decltype(real.mkostemps)>("mkostemps")(path, suffix, flags);
}
void early_closefrom(int first) {
  next<decltype(real.closefrom)>("closefrom")(first);
}
int early_open_2(const char* path, int flags) {
  return next<decltype(real.open_2)>("__open_2")(path, flags);
}
int early_openat_2(int folder, const char* path, int flags) {
  return next<decltype(real.openat_2)>("__openat_2")(folder, path, flags);
}
pid_t early_fork() {
  return next<decltype(real.fork)>("fork")();
}
void early_longjmp(void* to, int value) {
  next<decltype(real.longjmp)>("longjmp")(to, value);
}
void early_siglongjmp(void* to, int value) {
  next<decltype(real.siglongjmp)>("siglongjmp")(to, value);
}
void early_longjmp_chk(void* to, int value) {
  next<decltype(real.longjmp_chk)>("__longjmp_chk")(to, value);
}

template <class Function>
void find(Function& function, const char* name) {
  if (void* found = dlsym(RTLD_NEXT, name); found != nullptr) {
    function = reinterpret_cast<Function>(found);
  }
}

}  // namespace

constinit Real real = {
    .open = raw_open,
    .openat = raw_openat,
    .open_2 = early_open_2,
    .openat_2 = early_openat_2,
    .close = raw_close,
    .closefrom = early_closefrom,
    .close_range = raw_close_range,
    .read = raw_read,
    .pread = raw_pread,
    .readv = raw_readv,
    .preadv = raw_preadv,
    .preadv2 = raw_preadv2,
    .write = raw_write,
    .pwrite = raw_pwrite,
    .writev = raw_writev,
    .pwritev = raw_pwritev,
    .pwritev2 = raw_pwritev2,
    .lseek = raw_lseek,
    .fsync = raw_fsync,
    .fdatasync = raw_fdatasync,
    .ftruncate = raw_ftruncate,
    .truncate = raw_truncate,
    .fallocate = raw_fallocate,
    .posix_fallocate = raw_posix_fallocate,
    .copy_file_range = raw_copy_file_range,
    .sendfile = raw_sendfile,
    .splice = raw_splice,
    .ioctl = raw_ioctl,
    .dup = raw_dup,
    .dup2 = raw_dup2,
    .dup3 = raw_dup3,
    .fcntl = raw_fcntl,
    .fopen = early_fopen,
    .freopen = early_freopen,
    .mkostemps = early_mkostemps,
    .fork = early_fork,
    .longjmp = early_longjmp,
    .siglongjmp = early_siglongjmp,
    .longjmp_chk = early_longjmp_chk,
    .syscall = __wrap_syscall,
};

// By the linker: all of the section.
extern "C" __attribute__((visibility("hidden"))) Next __start_sluice_next[];  // NOLINT(*-reserved-identifier)
extern "C" __attribute__((visibility("hidden"))) Next __stop_sluice_next[];   // NOLINT(*-reserved-identifier)

void* next_function(Next& one) {
  void* found = one.found.load(std::memory_order_acquire);
  if (found == nullptr) [[unlikely]] {
    found = dlsym(RTLD_NEXT, one.name);
    one.found.store(found, std::memory_order_release);
  }
  return found;
}

void find_real() {
  for (Next* one = __start_sluice_next; one != __stop_sluice_next; ++one) {
    next_function(*one);
  }
#define SLUICE_FIND(name) find(real.name, #name)
  SLUICE_FIND(open);
  SLUICE_FIND(openat);
  find(real.open_2, "__open_2");
  find(real.openat_2, "__openat_2");
  SLUICE_FIND(close);
  SLUICE_FIND(closefrom);
  SLUICE_FIND(close_range);
  SLUICE_FIND(read);
  SLUICE_FIND(pread);
  SLUICE_FIND(readv);
  SLUICE_FIND(preadv);
  SLUICE_FIND(preadv2);
  SLUICE_FIND(write);
  SLUICE_FIND(pwrite);
  SLUICE_FIND(writev);
  SLUICE_FIND(pwritev);
  SLUICE_FIND(pwritev2);
  SLUICE_FIND(lseek);
  SLUICE_FIND(fsync);
  SLUICE_FIND(fdatasync);
  SLUICE_FIND(ftruncate);
  SLUICE_FIND(truncate);
  SLUICE_FIND(fallocate);
  SLUICE_FIND(posix_fallocate);
  SLUICE_FIND(copy_file_range);
  SLUICE_FIND(sendfile);
  SLUICE_FIND(splice);
  SLUICE_FIND(ioctl);
  SLUICE_FIND(dup);
  SLUICE_FIND(dup2);
  SLUICE_FIND(dup3);
  SLUICE_FIND(fcntl);
  SLUICE_FIND(fopen);
  SLUICE_FIND(freopen);
  SLUICE_FIND(mkostemps);
  SLUICE_FIND(fork);
  SLUICE_FIND(longjmp);
  SLUICE_FIND(siglongjmp);
  find(real.longjmp_chk, "__longjmp_chk");
  SLUICE_FIND(syscall);
#undef SLUICE_FIND
}

}  // namespace sluice::preload

#include "base/sys.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string_view>
#include <utility>

namespace sluice {
namespace {

constexpr Sys real = {
    .open = [](const char* path, int flags, mode_t mode) { return ::open(path, flags, mode); },
    .close = ::close,
    .read = ::read,
    .write = ::write,
    .pread = ::pread,
    .pwrite = ::pwrite,
    .fsync = ::fsync,
    .stat = ::stat,
    .statvfs = ::statvfs,
    .readlink = ::readlink,
    .rename = ::rename,
    .unlink = ::unlink,
    .mkdir = ::mkdir,
    .access = ::access,
    .ioctl = [](int fd, unsigned long request, void* argument) { return ::ioctl(fd, request, argument); },
    .getxattr = ::getxattr,
    .opendir = ::opendir,
    .readdir = ::readdir,
    .closedir = ::closedir,
};

std::atomic<const Sys*> current = &real;

std::size_t fail_at = 0;
int fail_number = 0;
std::atomic<std::size_t> call_count = 0;

bool fails_now() {
  if (++call_count != fail_at) {
    return false;
  }
  errno = fail_number;
  return true;
}

// close and closedir release what they were given even when they report an error, as the kernel's do.
#define SLUICE_SYS_COUNTING(name, result, failure, parameters, arguments) \
  .name = [] parameters -> result {                                       \
    if (!fails_now()) {                                                   \
      return real.name arguments;                                         \
    }                                                                     \
    if constexpr (std::string_view(#name).starts_with("close")) {         \
      real.name arguments;                                                \
      errno = fail_number;                                                \
    }                                                                     \
    return failure;                                                       \
  },

constexpr Sys counting = {SLUICE_SYS_TABLE(SLUICE_SYS_COUNTING)};

const Sys& prepare(std::size_t n, int number) {
  fail_at = n;
  fail_number = number;
  call_count = 0;
  return counting;
}

}  // namespace

const Sys& real_sys() {
  return real;
}
const Sys& sys() {
  return *current.load(std::memory_order_relaxed);
}

ScopedSys::ScopedSys(const Sys& replacement) : before_(current.exchange(&replacement)) {}
ScopedSys::~ScopedSys() {
  current = before_;
}

FailNth::FailNth(std::size_t n, int number) : scope_(prepare(n, number)) {}
FailNth::~FailNth() = default;
std::size_t FailNth::calls() const {
  return call_count;
}

int UniqueFd::release() {
  return std::exchange(fd_, -1);
}

void UniqueFd::reset() {
  if (fd_ >= 0) {
    const int before = errno;
    sys().close(release());
    errno = before;
  }
}

}  // namespace sluice

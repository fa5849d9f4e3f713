// Calls by which the kernel copies from one descriptor to another. Where a file passes stages that do more
// than look on, its bytes must not go around them: they are read and written instead, or the program is told
// that it cannot be done that way, as on file systems that do not know how.
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "fronts/preload/export.h"
#include "fronts/preload/file.h"
#include "fronts/preload/pending.h"

using sluice::preload::act;
using sluice::preload::fails;
using sluice::preload::File;
using sluice::preload::files;
using sluice::preload::is_keeping;
using sluice::preload::managed;
using sluice::preload::most_descriptors;
using sluice::preload::real;
using sluice::preload::settle;

namespace {

bool interferes(int fd) {
  const File* file = static_cast<unsigned>(fd) < most_descriptors ? files[fd].load() : nullptr;
  return file != nullptr && file->stack->interferes();
}

// What a call is given, whose pointer may be wrong: the kernel says EFAULT then, and not we.
template <class Value>
bool take(const void* from, Value& out) {
  const iovec there{.iov_base = const_cast<void*>(from), .iov_len = sizeof out};
  const iovec here{.iov_base = &out, .iov_len = sizeof out};
  if (!sluice::is_memory(from, sizeof out)) {
    return false;
  }
  const int saved = errno;
  const long got = syscall(SYS_process_vm_readv, getpid(), &here, 1, &there, 1, 0);
  const bool may_not = got < 0 && errno != EFAULT;  // as in some containers
  errno = saved;
  if (may_not) {
    std::memcpy(&out, from, sizeof out);
  }
  return may_not || got == static_cast<long>(sizeof out);
}

// As file_dedupe_range begins: what follows it there has no size in C++.
struct DedupeHead {
  std::uint64_t offset;
  std::uint64_t length;
  std::uint16_t count;
  std::uint16_t reserved1;
  std::uint32_t reserved2;
};

bool is_copy(unsigned long request) {
  return request == FICLONE || request == FICLONERANGE || request == FIDEDUPERANGE;
}

// Each other descriptor that a request is about, while `good` says so of them.
template <class Good>
bool each_other_of(unsigned long request, const void* argument, Good good) {
  file_clone_range range{};
  DedupeHead many{};
  if (request == FICLONE) {
    return good(static_cast<int>(reinterpret_cast<std::intptr_t>(argument)));
  }
  if (request == FICLONERANGE && take(argument, range)) {
    return good(static_cast<int>(range.src_fd));
  }
  // More than a page the kernel refuses.
  const std::size_t most =
      (static_cast<std::size_t>(getpagesize()) - sizeof many) / sizeof(file_dedupe_range_info);
  const unsigned count = request == FIDEDUPERANGE && take(argument, many) ? many.count : 0;
  const auto* at = static_cast<const char*>(argument) + sizeof many;
  file_dedupe_range_info one{};
  for (unsigned i = 0; i < count && count <= most && take(at, one); ++i, at += sizeof one) {
    if (!good(static_cast<int>(one.dest_fd))) {
      return false;
    }
  }
  return true;
}

// One piece. The memory is small: a stack may be.
ssize_t copy_piece(int in, off_t* in_offset, int out, off_t* out_offset, size_t length) {
  char buffer[4096];
  const size_t wanted = std::min(length, sizeof buffer);
  const ssize_t got = in_offset == nullptr ? read(in, buffer, wanted) : pread(in, buffer, wanted, *in_offset);
  if (got <= 0) {
    return got;
  }
  const auto count = static_cast<size_t>(got);
  const ssize_t put =
      out_offset == nullptr ? write(out, buffer, count) : pwrite(out, buffer, count, *out_offset);
  const ssize_t done = std::max<ssize_t>(put, 0);
  if (in_offset != nullptr) {
    *in_offset += done;
  } else if (done < got) {
    lseek(in, done - got, SEEK_CUR);
  }
  if (out_offset != nullptr) {
    *out_offset += done;
  }
  return put;
}

// Within one file, only what it has before counts: so much of it, and whether that is written over itself.
bool overlap(int in, const off_t* in_offset, int out, const off_t* out_offset, size_t& length) {
  struct stat source {};
  struct stat target {};
  const off_t from = in_offset != nullptr ? *in_offset : lseek(in, 0, SEEK_CUR);
  const off_t to = out_offset != nullptr ? *out_offset : lseek(out, 0, SEEK_CUR);
  if (fstat(in, &source) != 0 || fstat(out, &target) != 0 || source.st_ino != target.st_ino ||
      source.st_dev != target.st_dev) {
    return false;
  }
  length = std::min(length, static_cast<size_t>(std::max<off_t>(source.st_size - from, 0)));
  return static_cast<size_t>(std::abs(from - to)) < length;
}

// All of it, or until nothing more comes. These calls are no places at which a thread is cancelled; reads and
// writes are.
ssize_t copy(int in, off_t* in_offset, int out, off_t* out_offset, size_t length) {
  int before = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  ssize_t done = 0;
  ssize_t moved = 0;
  while (static_cast<size_t>(done) < length &&
         (moved = copy_piece(in, in_offset, out, out_offset, length - static_cast<size_t>(done))) > 0) {
    done += moved;
  }
  pthread_setcancelstate(before, nullptr);
  return done > 0 ? done : moved;
}

// Where stages only look on, the kernel copies, and they see a read and a write of as much.
struct Copy {
  int in;
  off_t* in_offset;
  int out;
  off_t* out_offset;
  size_t length;
  ssize_t (*act)(const Copy&);
  ssize_t done;
};

ssize_t seen_copy(Copy& one) {
  if (is_keeping()) {
    settle(one.in, SLUICE_SETTLE_POSITION);
    settle(one.out, SLUICE_SETTLE_POSITION);
  }
  const auto in = managed(one.in, SLUICE_READ);
  const auto out = managed(one.out, SLUICE_WRITE);
  if (!in && !out) {
    return one.act(one);
  }
  const off_t from = one.in_offset == nullptr ? SLUICE_AT_POSITION : *one.in_offset;
  const off_t to = one.out_offset == nullptr ? SLUICE_AT_POSITION : *one.out_offset;
  const sluice::preload::Perform perform = [](void* context) -> std::int64_t {
    auto& self = *static_cast<Copy*>(context);
    return self.done = self.act(self);
  };
  const sluice::preload::Perform already = [](void* context) -> std::int64_t {
    return static_cast<Copy*>(context)->done;
  };
  if (out) {
    act(*out, SLUICE_WRITE, one.out, one.length, to, perform, &one);
  }
  if (in && (!out || one.done >= 0)) {
    act(*in, SLUICE_READ, one.in, one.length, from, out ? already : perform, &one);
  }
  return one.done;
}

}  // namespace

SLUICE_EXPORT ssize_t copy_file_range(int in, off64_t* in_offset, int out, off64_t* out_offset, size_t length,
                                      unsigned flags) {
  if (flags != 0) {
    return real.copy_file_range(in, in_offset, out, out_offset, length, flags);
  }
  if (interferes(in) || interferes(out)) {
    // Whether it may be at all the kernel says of nothing, too; of what is before the file it says so.
    const auto before = [](const off64_t* offset) { return offset != nullptr && *offset < 0; };
    const size_t asked = before(in_offset) || before(out_offset) ? length : 0;
    const ssize_t may = real.copy_file_range(in, in_offset, out, out_offset, asked, 0);
    if (may == 0 && overlap(in, in_offset, out, out_offset, length)) {
      errno = EINVAL;
      return -1;
    }
    return may < 0 ? may : copy(in, in_offset, out, out_offset, length);
  }
  Copy one{in,
           in_offset,
           out,
           out_offset,
           length,
           [](const Copy& self) {
             return real.copy_file_range(self.in, self.in_offset, self.out, self.out_offset, self.length, 0);
           },
           0};
  return seen_copy(one);
}

SLUICE_EXPORT ssize_t sendfile(int out, int in, off_t* offset, size_t length) noexcept {
  if (interferes(in) || interferes(out)) {
    const ssize_t may = real.sendfile(out, in, offset, 0);
    return may < 0 ? may : copy(in, offset, out, nullptr, length);
  }
  Copy one{
      in,     offset,
      out,    nullptr,
      length, [](const Copy& self) { return real.sendfile(self.out, self.in, self.in_offset, self.length); },
      0};
  return seen_copy(one);
}
SLUICE_ALIAS(ssize_t, sendfile64, sendfile, (int, int, off64_t*, size_t)) noexcept;

SLUICE_EXPORT ssize_t splice(int in, off64_t* in_offset, int out, off64_t* out_offset, size_t length,
                             unsigned flags) {
  if (interferes(in) || interferes(out)) {
    errno = EINVAL;
    return -1;
  }
  if (is_keeping()) {
    settle(in, SLUICE_SETTLE_POSITION);
    settle(out, SLUICE_SETTLE_POSITION);
  }
  return real.splice(in, in_offset, out, out_offset, length, flags);
}

SLUICE_EXPORT int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list list;
  va_start(list, request);
  void* argument = va_arg(list, void*);
  va_end(list);
  const auto prepared = [&](int one) {
    if (is_copy(request) && interferes(one)) {
      errno = EOPNOTSUPP;
      return false;
    }
    return !is_keeping() || !fails(settle(one, SLUICE_SETTLE_POSITION));
  };
  return prepared(fd) && each_other_of(request, argument, prepared) ? real.ioctl(fd, request, argument) : -1;
}

// Calls that move data or change a file through its descriptor.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fronts/preload/elsewhere.h"
#include "fronts/preload/export.h"
#include "fronts/preload/file.h"
#include "fronts/preload/pending.h"
#include "pipeline/pool.h"

using sluice::is_memory;
using sluice::preload::abandon;
using sluice::preload::act;
using sluice::preload::begin;
using sluice::preload::by_name;
using sluice::preload::change_names;
using sluice::preload::fails;
using sluice::preload::File;
using sluice::preload::is_keeping;
using sluice::preload::managed;
using sluice::preload::managed_point;
using sluice::preload::put_down_all;
using sluice::preload::put_down_name;
using sluice::preload::real;
using sluice::preload::settle;
using sluice::preload::wants_names;

namespace {

// A vector of so many bytes is passed on as one, also where data is changed; not on the stack, which may be
// small.
constexpr std::size_t gathered = std::size_t{64} * 1024;
struct alignas(4096) Gathering {
  char bytes[gathered];
};
sluice::Pool<Gathering, 16> gatherings;

// What is surely no memory is not shown to a stage of somebody else.
bool is_bad(const File& file, const void* data, std::size_t length) {
  if (!file.stack->is_foreign() || length == 0 || is_memory(data, length)) [[likely]] {
    return false;
  }
  errno = EFAULT;
  return true;
}

[[gnu::always_inline]] inline ssize_t read_as(File& file, int fd, void* data, std::size_t length,
                                              std::int64_t offset) {
  return is_bad(file, data, length) ? -1 : act(file, SLUICE_READ, fd, data, length, offset);
}

// A stage takes what is written as it is; only its type allows more.
[[gnu::always_inline]] inline ssize_t write_as(File& file, int fd, const void* data, std::size_t length,
                                               std::int64_t offset) {
  return is_bad(file, data, length) ? -1
                                    : act(file, SLUICE_WRITE, fd, const_cast<void*>(data), length, offset);
}

// The bytes of a vector; -1 where they are too many, as the kernel says.
ssize_t total_of(const iovec* parts, int count) {
  if (count < 0 || count > 1024) {
    errno = EINVAL;
    return -1;
  }
  std::size_t out = 0;
  for (int i = 0; i < count; ++i) {
    if (__builtin_add_overflow(out, parts[i].iov_len, &out) || out > SSIZE_MAX) {
      errno = EINVAL;
      return -1;
    }
  }
  return static_cast<ssize_t>(out);
}

// Stages that leave data and calls alone, or can settle, see the whole vector as the kernel takes it.
struct Vector {
  int fd;
  const iovec* parts;
  int count;
  std::int64_t offset;
  bool write;
};

std::int64_t perform_vector(void* context) {
  const auto& one = *static_cast<const Vector*>(context);
  if (one.offset == SLUICE_AT_POSITION) {
    return one.write ? real.writev(one.fd, one.parts, one.count) : real.readv(one.fd, one.parts, one.count);
  }
  return one.write ? real.pwritev(one.fd, one.parts, one.count, one.offset)
                   : real.preadv(one.fd, one.parts, one.count, one.offset);
}

// Where data is changed: part by part, until one is not done whole.
ssize_t by_parts(File& file, const Vector& one) {
  ssize_t done = 0;
  for (int i = 0; i < one.count; ++i) {
    const iovec& part = one.parts[i];
    const std::int64_t at = one.offset == SLUICE_AT_POSITION ? one.offset : one.offset + done;
    const ssize_t moved = one.write ? write_as(file, one.fd, part.iov_base, part.iov_len, at)
                                    : read_as(file, one.fd, part.iov_base, part.iov_len, at);
    if (moved < 0) {
      return done > 0 ? done : -1;
    }
    done += moved;
    if (static_cast<std::size_t>(moved) < part.iov_len) {
      break;
    }
  }
  return done;
}

// The same as one, so that nobody's bytes come between.
ssize_t as_one(File& file, const Vector& one, std::size_t total, char* buffer) {
  std::size_t at = 0;
  if (one.write) {
    for (int i = 0; i < one.count; at += one.parts[i++].iov_len) {
      std::memcpy(buffer + at, one.parts[i].iov_base, one.parts[i].iov_len);
    }
    return write_as(file, one.fd, buffer, total, one.offset);
  }
  const ssize_t got = read_as(file, one.fd, buffer, total, one.offset);
  for (int i = 0; i < one.count && got > 0 && at < static_cast<std::size_t>(got); ++i) {
    const std::size_t length = std::min(one.parts[i].iov_len, static_cast<std::size_t>(got) - at);
    std::memcpy(one.parts[i].iov_base, buffer + at, length);
    at += length;
  }
  return got;
}

ssize_t vector_as(File& file, Vector one) {
  const auto operation = one.write ? SLUICE_WRITE : SLUICE_READ;
  const auto whole = [&] { return act(file, operation, one.fd, 0, one.offset, perform_vector, &one); };
  if (!file.stack->needs_data() || !is_memory(one.parts, sizeof one.parts[0])) {
    return whole();
  }
  const ssize_t total = total_of(one.parts, one.count);
  if (total < 0) {
    return -1;
  }
  if (!std::all_of(one.parts, one.parts + one.count, [](const iovec& part) {
        return part.iov_len == 0 || is_memory(part.iov_base, part.iov_len);
      })) {
    return whole();
  }
  if (one.count == 1) {
    return by_parts(file, one);
  }
  Gathering* memory = static_cast<std::size_t>(total) <= gathered ? gatherings.take() : nullptr;
  if (memory == nullptr) {
    return file.stack->interferes() ? by_parts(file, one) : whole();
  }
  const ssize_t done = as_one(file, one, static_cast<std::size_t>(total), memory->bytes);
  const int saved = errno;
  gatherings.give_back(memory);
  errno = saved;
  return done;
}

ssize_t readv_as(File& file, int fd, const iovec* parts, int count, std::int64_t offset) {
  return vector_as(file, {.fd = fd, .parts = parts, .count = count, .offset = offset, .write = false});
}

ssize_t writev_as(File& file, int fd, const iovec* parts, int count, std::int64_t offset) {
  return vector_as(file, {.fd = fd, .parts = parts, .count = count, .offset = offset, .write = true});
}

// Positions below zero are refused by the kernel, and are not to be taken for "at the position".
bool is_position(off_t offset) {
  return offset >= 0;
}

// Of a descriptor that has no stack. Whoever syncs a folder wants the names in it to be safe.
int sync_unmanaged(int fd, bool data_alone) {
  const auto sync = [&] { return data_alone ? real.fdatasync(fd) : real.fsync(fd); };
  const bool wanted = wants_names(SLUICE_SYNC_FOLDER);
  struct stat found {};
  if ((!wanted && !is_keeping()) || syscall(SYS_fstat, fd, &found) != 0 || !S_ISDIR(found.st_mode)) {
    return sync();
  }
  if (is_keeping()) {
    put_down_all();
  }
  return change_names(SLUICE_SYNC_FOLDER, {fd, "."}, {}, data_alone ? 1 : 0, sync);
}

struct Truncation {
  const char* path;
  off_t size;
};

}  // namespace

SLUICE_EXPORT ssize_t read(int fd, void* data, size_t length) {
  const auto file = managed_point(fd, SLUICE_READ);
  return !file ? real.read(fd, data, length) : read_as(*file, fd, data, length, SLUICE_AT_POSITION);
}
SLUICE_EXPORT ssize_t __read_chk(int fd, void* data, size_t length, size_t room) {
  if (length > room) {
    __chk_fail();
  }
  return read(fd, data, length);
}

SLUICE_EXPORT ssize_t pread(int fd, void* data, size_t length, off_t offset) {
  const auto file = managed_point(fd, SLUICE_READ);
  return !file || !is_position(offset) ? real.pread(fd, data, length, offset)
                                       : read_as(*file, fd, data, length, offset);
}
SLUICE_ALIAS(ssize_t, pread64, pread, (int, void*, size_t, off64_t));
SLUICE_EXPORT ssize_t __pread_chk(int fd, void* data, size_t length, off_t offset, size_t room) {
  if (length > room) {
    __chk_fail();
  }
  return pread(fd, data, length, offset);
}
SLUICE_ALIAS(ssize_t, __pread64_chk, __pread_chk, (int, void*, size_t, off64_t, size_t));

SLUICE_EXPORT ssize_t readv(int fd, const iovec* parts, int count) {
  const auto file = managed_point(fd, SLUICE_READ);
  return !file ? real.readv(fd, parts, count) : readv_as(*file, fd, parts, count, SLUICE_AT_POSITION);
}
SLUICE_EXPORT ssize_t preadv(int fd, const iovec* parts, int count, off_t offset) {
  const auto file = managed_point(fd, SLUICE_READ);
  return !file || !is_position(offset) ? real.preadv(fd, parts, count, offset)
                                       : readv_as(*file, fd, parts, count, offset);
}
SLUICE_ALIAS(ssize_t, preadv64, preadv, (int, const iovec*, int, off64_t));
// With flags of its own a call goes straight on, unseen: no stage could keep to them.
SLUICE_EXPORT ssize_t preadv2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  const auto file = managed_point(fd, SLUICE_READ);
  if (file && flags != 0 && fails(settle(fd, SLUICE_SETTLE_POSITION))) {
    return -1;
  }
  return !file || flags != 0 || offset < -1 ? real.preadv2(fd, parts, count, offset, flags)
                                            : readv_as(*file, fd, parts, count, offset);
}
SLUICE_ALIAS(ssize_t, preadv64v2, preadv2, (int, const iovec*, int, off64_t, int));

SLUICE_EXPORT ssize_t write(int fd, const void* data, size_t length) {
  const auto file = managed_point(fd, SLUICE_WRITE);
  return !file ? real.write(fd, data, length) : write_as(*file, fd, data, length, SLUICE_AT_POSITION);
}
SLUICE_EXPORT ssize_t pwrite(int fd, const void* data, size_t length, off_t offset) {
  const auto file = managed_point(fd, SLUICE_WRITE);
  return !file || !is_position(offset) ? real.pwrite(fd, data, length, offset)
                                       : write_as(*file, fd, data, length, offset);
}
SLUICE_ALIAS(ssize_t, pwrite64, pwrite, (int, const void*, size_t, off64_t));
SLUICE_EXPORT ssize_t writev(int fd, const iovec* parts, int count) {
  const auto file = managed_point(fd, SLUICE_WRITE);
  return !file ? real.writev(fd, parts, count) : writev_as(*file, fd, parts, count, SLUICE_AT_POSITION);
}
SLUICE_EXPORT ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  const auto file = managed_point(fd, SLUICE_WRITE);
  return !file || !is_position(offset) ? real.pwritev(fd, parts, count, offset)
                                       : writev_as(*file, fd, parts, count, offset);
}
SLUICE_ALIAS(ssize_t, pwritev64, pwritev, (int, const iovec*, int, off64_t));
SLUICE_EXPORT ssize_t pwritev2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  const auto file = managed_point(fd, SLUICE_WRITE);
  if (file && flags != 0 && fails(settle(fd, SLUICE_SETTLE_POSITION))) {
    return -1;
  }
  return !file || flags != 0 || offset < -1 ? real.pwritev2(fd, parts, count, offset, flags)
                                            : writev_as(*file, fd, parts, count, offset);
}
SLUICE_ALIAS(ssize_t, pwritev64v2, pwritev2, (int, const iovec*, int, off64_t, int));

SLUICE_EXPORT off_t lseek(int fd, off_t offset, int whence) noexcept {
  const auto file = managed(fd, SLUICE_SEEK);
  return !file ? real.lseek(fd, offset, whence) : act(*file, SLUICE_SEEK, fd, nullptr, 0, offset, whence);
}
SLUICE_ALIAS(off64_t, lseek64, lseek, (int, off64_t, int)) noexcept;

SLUICE_EXPORT int fsync(int fd) {
  const auto file = managed_point(fd, SLUICE_SYNC);
  return !file ? sync_unmanaged(fd, false) : static_cast<int>(act(*file, SLUICE_SYNC, fd, nullptr, 0, 0, 0));
}
SLUICE_EXPORT int fdatasync(int fd) {
  const auto file = managed_point(fd, SLUICE_SYNC);
  return !file ? sync_unmanaged(fd, true) : static_cast<int>(act(*file, SLUICE_SYNC, fd, nullptr, 0, 0, 1));
}

SLUICE_EXPORT int ftruncate(int fd, off_t size) noexcept {
  const auto file = managed(fd, SLUICE_TRUNCATE);
  return !file || size < 0
             ? real.ftruncate(fd, size)
             : static_cast<int>(act(*file, SLUICE_TRUNCATE, fd, nullptr, static_cast<std::size_t>(size), 0));
}
SLUICE_ALIAS(int, ftruncate64, ftruncate, (int, off64_t)) noexcept;

// By name: no descriptor, but a file of ours all the same.
SLUICE_EXPORT int truncate(const char* path, off_t size) noexcept {
  if (fails(put_down_name(AT_FDCWD, path))) {
    return -1;
  }
  File* file = size < 0 ? nullptr : begin(AT_FDCWD, path, O_WRONLY | O_TRUNC);
  if (file == nullptr) {
    return by_name(AT_FDCWD, path, [&] { return real.truncate(path, size); });
  }
  if (file == &sluice::preload::refused) {
    errno = sluice::preload::refusal;
    return -1;
  }
  Truncation one{.path = path, .size = size};
  const auto done = act(
      *file, SLUICE_TRUNCATE, -1, static_cast<std::size_t>(size), 0,
      [](void* context) -> std::int64_t {
        const auto& self = *static_cast<const Truncation*>(context);
        return by_name(AT_FDCWD, self.path, [&] { return real.truncate(self.path, self.size); });
      },
      &one);
  abandon(*file);
  return static_cast<int>(done);
}
SLUICE_ALIAS(int, truncate64, truncate, (const char*, off64_t)) noexcept;

SLUICE_EXPORT int fallocate(int fd, int mode, off_t offset, off_t length) {
  const auto file = managed(fd, SLUICE_ALLOCATE);
  return !file || length < 0 ? real.fallocate(fd, mode, offset, length)
                             : static_cast<int>(act(*file, SLUICE_ALLOCATE, fd, nullptr,
                                                    static_cast<std::size_t>(length), offset, mode));
}
SLUICE_ALIAS(int, fallocate64, fallocate, (int, int, off64_t, off64_t));

// Where the file system cannot, libc writes a byte into each block by itself.
SLUICE_EXPORT int posix_fallocate(int fd, off_t offset, off_t length) {
  const auto file = managed(fd, SLUICE_ALLOCATE);
  if (!file || offset < 0 || length <= 0) {
    return real.posix_fallocate(fd, offset, length);
  }
  const int saved = errno;
  const auto done = act(*file, SLUICE_ALLOCATE, fd, nullptr, static_cast<std::size_t>(length), offset, 0);
  const int number = done < 0 ? errno : 0;
  errno = saved;
  return number == EOPNOTSUPP ? real.posix_fallocate(fd, offset, length) : number;
}
SLUICE_ALIAS(int, posix_fallocate64, posix_fallocate, (int, off64_t, off64_t));

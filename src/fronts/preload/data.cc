// Calls that move data or change a file through its descriptor.
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fronts/preload/export.h"
#include "fronts/preload/file.h"

using sluice::preload::act;
using sluice::preload::File;
using sluice::preload::managed;
using sluice::preload::real;

namespace {

constexpr std::size_t gathered = 64 * 1024;  // bytes of a vector that are passed on as one

ssize_t read_as(File& file, int fd, void* data, std::size_t length, std::int64_t offset) {
  return act(file, SLUICE_READ, fd, data, length, offset);
}

// A stage takes what is written as it is; only its type allows more.
ssize_t write_as(File& file, int fd, const void* data, std::size_t length, std::int64_t offset) {
  return act(file, SLUICE_WRITE, fd, const_cast<void*>(data), length, offset);
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

// One activity where the vector is short, so that nobody's bytes come between; else one for each part.
template <class Whole, class Part>
ssize_t vector_as(const iovec* parts, int count, std::int64_t offset, const Whole& whole, const Part& part) {
  const ssize_t total = total_of(parts, count);
  if (total < 0) {
    return -1;
  }
  if (count == 1) {
    return part(parts[0], offset);
  }
  if (static_cast<std::size_t>(total) <= gathered) {
    return whole(static_cast<std::size_t>(total));
  }
  ssize_t done = 0;
  for (int i = 0; i < count; ++i) {
    const ssize_t moved = part(parts[i], offset == SLUICE_AT_POSITION ? offset : offset + done);
    if (moved < 0) {
      return done > 0 ? done : -1;
    }
    done += moved;
    if (static_cast<std::size_t>(moved) < parts[i].iov_len) {
      break;
    }
  }
  return done;
}

ssize_t readv_as(File& file, int fd, const iovec* parts, int count, std::int64_t offset) {
  return vector_as(
      parts, count, offset,
      [&](std::size_t total) {
        char buffer[gathered];
        const ssize_t got = read_as(file, fd, buffer, total, offset);
        std::size_t at = 0;
        for (int i = 0; i < count && got > 0 && at < static_cast<std::size_t>(got); ++i) {
          const std::size_t length = std::min(parts[i].iov_len, static_cast<std::size_t>(got) - at);
          std::memcpy(parts[i].iov_base, buffer + at, length);
          at += length;
        }
        return got;
      },
      [&](const iovec& one, std::int64_t at) { return read_as(file, fd, one.iov_base, one.iov_len, at); });
}

ssize_t writev_as(File& file, int fd, const iovec* parts, int count, std::int64_t offset) {
  return vector_as(
      parts, count, offset,
      [&](std::size_t total) {
        char buffer[gathered];
        std::size_t at = 0;
        for (int i = 0; i < count; ++i) {
          std::memcpy(buffer + at, parts[i].iov_base, parts[i].iov_len);
          at += parts[i].iov_len;
        }
        return write_as(file, fd, buffer, total, offset);
      },
      [&](const iovec& one, std::int64_t at) { return write_as(file, fd, one.iov_base, one.iov_len, at); });
}

// Positions below zero are refused by the kernel, and are not to be taken for "at the position".
bool is_position(off_t offset) {
  return offset >= 0;
}

}  // namespace

SLUICE_EXPORT ssize_t read(int fd, void* data, size_t length) {
  File* file = managed(fd, SLUICE_READ);
  return file == nullptr ? real.read(fd, data, length) : read_as(*file, fd, data, length, SLUICE_AT_POSITION);
}
SLUICE_EXPORT ssize_t __read_chk(int fd, void* data, size_t length, size_t room) {
  if (length > room) {
    __builtin_trap();
  }
  return read(fd, data, length);
}

SLUICE_EXPORT ssize_t pread(int fd, void* data, size_t length, off_t offset) {
  File* file = managed(fd, SLUICE_READ);
  return file == nullptr || !is_position(offset) ? real.pread(fd, data, length, offset)
                                                 : read_as(*file, fd, data, length, offset);
}
SLUICE_ALIAS(ssize_t, pread64, pread, (int, void*, size_t, off64_t));
SLUICE_EXPORT ssize_t __pread_chk(int fd, void* data, size_t length, off_t offset, size_t room) {
  if (length > room) {
    __builtin_trap();
  }
  return pread(fd, data, length, offset);
}
SLUICE_ALIAS(ssize_t, __pread64_chk, __pread_chk, (int, void*, size_t, off64_t, size_t));

SLUICE_EXPORT ssize_t readv(int fd, const iovec* parts, int count) {
  File* file = managed(fd, SLUICE_READ);
  return file == nullptr ? real.readv(fd, parts, count)
                         : readv_as(*file, fd, parts, count, SLUICE_AT_POSITION);
}
SLUICE_EXPORT ssize_t preadv(int fd, const iovec* parts, int count, off_t offset) {
  File* file = managed(fd, SLUICE_READ);
  return file == nullptr || !is_position(offset) ? real.preadv(fd, parts, count, offset)
                                                 : readv_as(*file, fd, parts, count, offset);
}
SLUICE_ALIAS(ssize_t, preadv64, preadv, (int, const iovec*, int, off64_t));
// With flags of its own a call goes straight on, unseen: no stage could keep to them.
SLUICE_EXPORT ssize_t preadv2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  File* file = managed(fd, SLUICE_READ);
  return file == nullptr || flags != 0 || offset < -1 ? real.preadv2(fd, parts, count, offset, flags)
                                                      : readv_as(*file, fd, parts, count, offset);
}
SLUICE_ALIAS(ssize_t, preadv64v2, preadv2, (int, const iovec*, int, off64_t, int));

SLUICE_EXPORT ssize_t write(int fd, const void* data, size_t length) {
  File* file = managed(fd, SLUICE_WRITE);
  return file == nullptr ? real.write(fd, data, length)
                         : write_as(*file, fd, data, length, SLUICE_AT_POSITION);
}
SLUICE_EXPORT ssize_t pwrite(int fd, const void* data, size_t length, off_t offset) {
  File* file = managed(fd, SLUICE_WRITE);
  return file == nullptr || !is_position(offset) ? real.pwrite(fd, data, length, offset)
                                                 : write_as(*file, fd, data, length, offset);
}
SLUICE_ALIAS(ssize_t, pwrite64, pwrite, (int, const void*, size_t, off64_t));
SLUICE_EXPORT ssize_t writev(int fd, const iovec* parts, int count) {
  File* file = managed(fd, SLUICE_WRITE);
  return file == nullptr ? real.writev(fd, parts, count)
                         : writev_as(*file, fd, parts, count, SLUICE_AT_POSITION);
}
SLUICE_EXPORT ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  File* file = managed(fd, SLUICE_WRITE);
  return file == nullptr || !is_position(offset) ? real.pwritev(fd, parts, count, offset)
                                                 : writev_as(*file, fd, parts, count, offset);
}
SLUICE_ALIAS(ssize_t, pwritev64, pwritev, (int, const iovec*, int, off64_t));
SLUICE_EXPORT ssize_t pwritev2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  File* file = managed(fd, SLUICE_WRITE);
  return file == nullptr || flags != 0 || offset < -1 ? real.pwritev2(fd, parts, count, offset, flags)
                                                      : writev_as(*file, fd, parts, count, offset);
}
SLUICE_ALIAS(ssize_t, pwritev64v2, pwritev2, (int, const iovec*, int, off64_t, int));

SLUICE_EXPORT off_t lseek(int fd, off_t offset, int whence) noexcept {
  File* file = managed(fd, SLUICE_SEEK);
  return file == nullptr ? real.lseek(fd, offset, whence)
                         : act(*file, SLUICE_SEEK, fd, nullptr, 0, offset, whence);
}
SLUICE_ALIAS(off64_t, lseek64, lseek, (int, off64_t, int)) noexcept;

SLUICE_EXPORT int fsync(int fd) {
  File* file = managed(fd, SLUICE_SYNC);
  return file == nullptr ? real.fsync(fd) : static_cast<int>(act(*file, SLUICE_SYNC, fd, nullptr, 0, 0, 0));
}
SLUICE_EXPORT int fdatasync(int fd) {
  File* file = managed(fd, SLUICE_SYNC);
  return file == nullptr ? real.fdatasync(fd)
                         : static_cast<int>(act(*file, SLUICE_SYNC, fd, nullptr, 0, 0, 1));
}

SLUICE_EXPORT int ftruncate(int fd, off_t size) noexcept {
  File* file = managed(fd, SLUICE_TRUNCATE);
  return file == nullptr || size < 0
             ? real.ftruncate(fd, size)
             : static_cast<int>(act(*file, SLUICE_TRUNCATE, fd, nullptr, static_cast<std::size_t>(size), 0));
}
SLUICE_ALIAS(int, ftruncate64, ftruncate, (int, off64_t)) noexcept;

SLUICE_EXPORT int fallocate(int fd, int mode, off_t offset, off_t length) {
  File* file = managed(fd, SLUICE_ALLOCATE);
  return file == nullptr || length < 0
             ? real.fallocate(fd, mode, offset, length)
             : static_cast<int>(
                   act(*file, SLUICE_ALLOCATE, fd, nullptr, static_cast<std::size_t>(length), offset, mode));
}
SLUICE_ALIAS(int, fallocate64, fallocate, (int, int, off64_t, off64_t));

// Where the file system cannot, libc writes a byte into each block by itself.
SLUICE_EXPORT int posix_fallocate(int fd, off_t offset, off_t length) {
  File* file = managed(fd, SLUICE_ALLOCATE);
  if (file == nullptr || offset < 0 || length <= 0) {
    return real.posix_fallocate(fd, offset, length);
  }
  const int saved = errno;
  const auto done = act(*file, SLUICE_ALLOCATE, fd, nullptr, static_cast<std::size_t>(length), offset, 0);
  const int number = done < 0 ? errno : 0;
  errno = saved;
  return number == EOPNOTSUPP ? real.posix_fallocate(fd, offset, length) : number;
}
SLUICE_ALIAS(int, posix_fallocate64, posix_fallocate, (int, off64_t, off64_t));

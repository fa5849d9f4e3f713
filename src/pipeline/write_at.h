// Writes all of it, whatever the kernel takes at once. A bare system call: in a program it is Sluice's own,
// which passes no stage.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace sluice {

// 0 or errno.
inline int write_at(int fd, const void* bytes, std::uint64_t length, std::uint64_t offset) {
  const auto* at = static_cast<const std::byte*>(bytes);
  while (length > 0) {
    const long done = syscall(SYS_pwrite64, fd, at, length, offset);
    if (done < 0 && errno == EINTR) {
      continue;
    }
    if (done <= 0) {
      return done < 0 ? errno : EIO;
    }
    at += done;
    offset += static_cast<std::uint64_t>(done);
    length -= static_cast<std::uint64_t>(done);
  }
  return 0;
}

}  // namespace sluice

#include "fronts/preload/hints.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/ioprio.h"
#include "fronts/preload/export.h"
#include "fronts/preload/file.h"
#include "fronts/preload/mappings.h"
#include "fronts/preload/pending.h"

namespace sluice::preload {
namespace {

constexpr int not_asked = -1;
std::atomic<int> priority = not_asked;

int ask_priority() {
  const int saved = errno;
  const int out = static_cast<int>(io_class());
  errno = saved;
  return out;
}

// What a hint about memory is called where it is about a file; -1 where it says nothing of use.
int of_memory(int advice) {
  switch (advice) {
    case MADV_NORMAL:
      return POSIX_FADV_NORMAL;
    case MADV_RANDOM:
      return POSIX_FADV_RANDOM;
    case MADV_SEQUENTIAL:
      return POSIX_FADV_SEQUENTIAL;
    case MADV_WILLNEED:
      return POSIX_FADV_WILLNEED;
    case MADV_DONTNEED:
      return POSIX_FADV_DONTNEED;
    default:
      return -1;
  }
}

}  // namespace

void hear_priority(int fd) {
  int known = priority.load(std::memory_order_relaxed);
  if (known == not_asked) {
    known = ask_priority();
    priority.store(known, std::memory_order_relaxed);
  }
  if (known != 0) {
    advise(fd, 0, 0, SLUICE_ADVISE_PRIORITY | known);
  }
}

void forget_priority() {
  priority.store(not_asked, std::memory_order_relaxed);
}

// The hint of an open file is one that newer kernels do not know any more; it is meant all the same.
void hear_lifetime(int fd, int command, const void* argument, int result) {
  const bool unknown = command == F_SET_FILE_RW_HINT && result < 0 && errno == EINVAL;
  if ((result == 0 || unknown) && is_memory(argument, sizeof(std::uint64_t))) {
    const std::uint64_t life = *static_cast<const std::uint64_t*>(argument);
    if (life <= RWH_WRITE_LIFE_EXTREME) {
      advise(fd, 0, 0, SLUICE_ADVISE_LIFETIME | static_cast<int>(life));
    }
  }
}

}  // namespace sluice::preload

using sluice::preload::advise;
using sluice::preload::advise_mappings;
using sluice::preload::fails;
using sluice::preload::forget_mappings;
using sluice::preload::may_keep;
using sluice::preload::of_memory;
using sluice::preload::remember_mapping;

SLUICE_EXPORT int posix_fadvise(int fd, off_t offset, off_t length, int advice) noexcept {
  const int error = SLUICE_NEXT(posix_fadvise)(fd, offset, length, advice);
  if (error == 0 && advice >= 0 && advice < SLUICE_ADVISE_LIFETIME) {
    advise(fd, offset, static_cast<std::uint64_t>(length), advice);
  }
  return error;
}
SLUICE_ALIAS(int, posix_fadvise64, posix_fadvise, (int, off64_t, off64_t, int)) noexcept;

SLUICE_EXPORT ssize_t readahead(int fd, off64_t offset, size_t length) noexcept {
  const ssize_t out = SLUICE_NEXT(readahead)(fd, offset, length);
  if (out == 0) {
    advise(fd, offset, length, POSIX_FADV_WILLNEED);
  }
  return out;
}

SLUICE_EXPORT int madvise(void* at, size_t length, int advice) noexcept {
  const int out = SLUICE_NEXT(madvise)(at, length, advice);
  if (const int flags = of_memory(advice); out == 0 && flags >= 0) {
    advise_mappings(at, length, flags);
  }
  return out;
}
SLUICE_EXPORT int posix_madvise(void* at, size_t length, int advice) noexcept {
  const int error = SLUICE_NEXT(posix_madvise)(at, length, advice);
  if (const int flags = of_memory(advice); error == 0 && flags >= 0) {
    advise_mappings(at, length, flags);
  }
  return error;
}

// Whoever has memory of a file reads and writes it unseen from now on: nothing of it is kept back.
SLUICE_EXPORT void* mmap(void* at, size_t length, int protection, int flags, int fd, off_t offset) noexcept {
  if (may_keep() && fails(sluice::preload::settle(fd, SLUICE_SETTLE_RETIRE))) [[unlikely]] {
    return MAP_FAILED;
  }
  void* out = SLUICE_NEXT(mmap)(at, length, protection, flags, fd, offset);
  if (out != MAP_FAILED) {
    forget_mappings(out, length);
    if ((flags & MAP_ANONYMOUS) == 0) {
      remember_mapping(out, length, fd, offset);
    }
  }
  return out;
}
SLUICE_ALIAS(void*, mmap64, mmap, (void*, size_t, int, int, int, off64_t)) noexcept;
// Before it is done: after that another thread may have got the same addresses.
SLUICE_EXPORT int munmap(void* at, size_t length) noexcept {
  forget_mappings(at, length);
  return SLUICE_NEXT(munmap)(at, length);
}
SLUICE_EXPORT void* mremap(void* at, size_t length, size_t wanted, int flags, ...) noexcept {
  va_list list;
  va_start(list, flags);
  void* target = (flags & MREMAP_FIXED) != 0 ? va_arg(list, void*) : nullptr;
  va_end(list);
  forget_mappings(at, length);
  if (target != nullptr) {
    forget_mappings(target, wanted);
  }
  return SLUICE_NEXT(mremap)(at, length, wanted, flags, target);
}

#include "stages/readahead/fetch.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "pipeline/area.h"

namespace sluice::readahead {
namespace {

// Of one call the kernel takes no more than its own readahead of the device, or than the device takes at
// once, and forgets the rest: this much it always takes.
constexpr std::int64_t sure_a_call = 128 * 1024;

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif
struct CacheRange {
  std::uint64_t offset;
  std::uint64_t length;
};
struct CacheState {
  std::uint64_t cached;
  std::uint64_t dirty;
  std::uint64_t writeback;
  std::uint64_t evicted;
  std::uint64_t recently_evicted;
};

// By mapping it. Of files of others the kernel says yes, and nothing is fetched of them then.
bool is_mapped_at_once(int fd, std::int64_t offset) {
  const long at = syscall(SYS_mmap, nullptr, page, PROT_NONE, MAP_SHARED, fd, round_down(offset));
  if (at == -1) {
    return false;
  }
  unsigned char there = 0;
  const bool told = syscall(SYS_mincore, at, page, &there) == 0;
  syscall(SYS_munmap, at, page);
  return told && (there & 1) != 0;
}

}  // namespace

bool fetch(int fd, std::int64_t offset, std::int64_t length) {
  const std::int64_t begin = round_down(offset);
  const std::int64_t end = offset + length;
  // All at once makes large requests of the device; then what that left out, for which what it did is passed
  // over.
  if (syscall(SYS_readahead, fd, begin, end - begin) != 0) {
    return false;
  }
  for (std::int64_t at = begin + sure_a_call; at < end; at += sure_a_call) {
    syscall(SYS_readahead, fd, at, std::min(sure_a_call, end - at));
  }
  if (Area* area = this_area(); area != nullptr) {
    area->fetches.fetch_add(1, std::memory_order_relaxed);
    area->fetched_bytes.fetch_add(static_cast<std::uint64_t>(length), std::memory_order_relaxed);
  }
  return true;
}

bool is_cached(int fd, std::int64_t offset, std::int64_t length) {
  const std::int64_t first = round_down(offset);
  const std::int64_t end = round_up(offset + length);
  const CacheRange range = {.offset = static_cast<std::uint64_t>(first),
                            .length = static_cast<std::uint64_t>(end - first)};
  CacheState state = {};
  return syscall(SYS_cachestat, fd, &range, &state, 0) == 0 &&
         state.cached >= static_cast<std::uint64_t>((end - first) / page);
}

bool is_read_at_once(int fd, std::int64_t offset) {
  char byte = 0;
  const iovec part = {.iov_base = &byte, .iov_len = 1};
  const long done = syscall(SYS_preadv2, fd, &part, 1, offset, 0L, RWF_NOWAIT);
  return done == 1 || (done < 0 && errno == EOPNOTSUPP && is_mapped_at_once(fd, offset));
}

std::int64_t size_of(int fd) {
  struct stat found {};
  return syscall(SYS_fstat, fd, &found) == 0 ? found.st_size : 0;
}

std::int64_t position_of(int fd) {
  return syscall(SYS_lseek, fd, 0, SEEK_CUR);
}

}  // namespace sluice::readahead

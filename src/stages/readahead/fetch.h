// What the kernel is asked for ahead of a program's reads, and how much of that this process has not read
// yet. Bare system calls: in a program these are Sluice's own, which pass no stage. errno may be changed.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::readahead {

inline constexpr std::int64_t page = 4096;
constexpr std::int64_t round_down(std::int64_t value) {
  return value & ~(page - 1);
}
constexpr std::int64_t round_up(std::int64_t value) {
  return round_down(value + page - 1);
}

// Bytes of one open file that were asked for and not read yet; the process has a sum of all.
class Ahead {
 public:
  void set(std::int64_t bytes) {
    const std::int64_t before = bytes_.exchange(bytes, std::memory_order_relaxed);
    if (before != bytes) {
      all_.fetch_add(bytes - before, std::memory_order_relaxed);
    }
  }
  // How many it may be, where the process may have so many.
  [[nodiscard]] std::int64_t most(std::int64_t memory) const {
    const std::int64_t others = all_.load(std::memory_order_relaxed) - bytes_.load(std::memory_order_relaxed);
    return others < memory ? memory - others : 0;
  }

 private:
  static inline constinit std::atomic<std::int64_t> all_ = 0;
  std::atomic<std::int64_t> bytes_ = 0;
};

// The kernel begins to read that, and nobody waits for it, unless the device has too much to do. False where
// it cannot.
bool fetch(int fd, std::int64_t offset, std::int64_t length);
// Whether all of it is in memory already; false also where the kernel does not say.
bool is_cached(int fd, std::int64_t offset, std::int64_t length);
// The same of one byte, by reading it, or mapping it where it cannot be read without waiting: told of
// any file, but one that is not there may be asked for by it.
bool is_read_at_once(int fd, std::int64_t offset);
// 0 where that cannot be told.
std::int64_t size_of(int fd);
// Where the kernel's own position is.
std::int64_t position_of(int fd);

}  // namespace sluice::readahead

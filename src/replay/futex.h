// Sleeping on a word that processes share.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace sluice {

// While it has that value, and at most so long.
inline void futex_sleep(std::atomic<std::uint32_t>& word, std::uint32_t value, long nanoseconds) {
  const timespec most{.tv_sec = 0, .tv_nsec = nanoseconds};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &most, nullptr, 0);
}
inline void futex_wake(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace sluice

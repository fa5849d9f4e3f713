// Who a thread and a process are to the others of a run, without a system call each time; and locks that
// outlive whoever had them.
#pragma once

#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sluice {

// This thread.
__attribute__((tls_model("initial-exec"))) extern thread_local constinit pid_t known_thread;
pid_t look_up_thread();
inline pid_t this_thread() {
  return known_thread != 0 ? known_thread : look_up_thread();
}

struct Process {
  pid_t id = 0;
  std::uint64_t started = 0;  // as the kernel counts; 0 = nobody could tell whether it lives
};
const Process& this_process();
// Once a process, before the others; a second time it is no matter.
void begin_process();
// The same for those that want to know numbers alone: it asks the kernel for nothing that takes time.
void begin_threads();
// In a child of a fork that libc does not tell us of.
void begin_child();

// When a process was started, in the kernel's ticks; 0 where there is none, or it has ended.
std::uint64_t process_start(pid_t process);
inline constexpr std::uint64_t never_started = UINT64_MAX;  // what no process, dead or alive, has
// So many descriptors of this process are of the same file and not of the same open one. It looks at all.
int opened_again(int fd, const struct stat& file);
// Whether somebody has stopped it (SIGSTOP): it lives, and does nothing.
bool is_stopped(pid_t process);
// In which numbers of processes mean the same.
std::uint64_t process_space();

// Bits that new files of this process do not get.
mode_t this_umask();
void set_umask(mode_t mask);

// How large this process may make a file; looked up again after it may have changed.
std::uint64_t this_file_limit();
void forget_file_limit();

// No handler while this lives: nobody jumps out of what has to be done as a whole, or comes into it.
class Unsignalled {
 public:
  Unsignalled() {
    // Faults are the thread's own, and whoever handles them must: the kernel ends who has them blocked.
    constexpr auto bit = [](int signal) { return std::uint64_t{1} << (signal - 1); };
    constexpr std::uint64_t all =
        ~(bit(SIGSEGV) | bit(SIGBUS) | bit(SIGFPE) | bit(SIGILL) | bit(SIGTRAP) | bit(SIGSYS));
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before_, sizeof before_);
  }
  Unsignalled(const Unsignalled&) = delete;
  Unsignalled& operator=(const Unsignalled&) = delete;
  ~Unsignalled() { syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_); }

 private:
  std::uint64_t before_ = 0;
};

// A lock in shared memory is the number of the thread that has it; 0 = nobody. A thread that is interrupted
// while it has it may come again in a signal's handler. Where numbers of threads mean something else than for
// the keeper, bits above them say so: nobody else can tell then whether it lives.
__attribute__((visibility("hidden"))) extern std::atomic<std::uint32_t> lock_space;
inline bool is_stranger() {
  return lock_space.load(std::memory_order_relaxed) != 0;
}
inline pid_t lock_owner() {
  return static_cast<pid_t>(static_cast<std::uint32_t>(this_thread()) |
                            lock_space.load(std::memory_order_relaxed));
}
// The same where numbers may be those of a parent still, in a child that libc does not know of.
pid_t look_up_lock_owner();
enum class Locked : std::uint8_t { yes, already, no };
Locked wait_for_lock(std::atomic<std::uint32_t>& lock, pid_t thread, int patience);
// Waits until nobody who lives has it; `patience` in milliseconds, 0 = for ever.
inline Locked take_lock(std::atomic<std::uint32_t>& lock, pid_t thread, int patience = 0) {
  std::uint32_t nobody = 0;
  if (lock.compare_exchange_strong(nobody, static_cast<std::uint32_t>(thread), std::memory_order_acquire))
      [[likely]] {
    return Locked::yes;
  }
  return wait_for_lock(lock, thread, patience);
}
inline void give_lock_back(std::atomic<std::uint32_t>& lock) {
  lock.store(0, std::memory_order_release);
}

// The same, noted for this thread: where a signal's handler jumps out of it (siglongjmp), nobody would give
// them back. Each change under such a lock is whole at any moment, as for who is killed.
struct HeldLocks {
  std::array<std::atomic<std::uint32_t>*, 16> all = {};
  std::size_t count = 0;
};
__attribute__((tls_model("initial-exec"))) extern thread_local constinit HeldLocks held_locks;
inline Locked hold_lock(std::atomic<std::uint32_t>& lock, int patience = 0) {
  HeldLocks& held = held_locks;
  const std::size_t at = held.count;
  if (at < held.all.size()) [[likely]] {
    held.all[at] = &lock;
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  held.count = at + 1;
  const Locked out = take_lock(lock, lock_owner(), patience);
  if (out != Locked::yes) {
    held.count = at;
  }
  return out;
}
inline void let_go(std::atomic<std::uint32_t>& lock) {
  // Not in a child that was forked in the middle: it is its parent's.
  if (lock.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(lock_owner())) {
    give_lock_back(lock);
  }
  HeldLocks& held = held_locks;
  std::size_t at = std::min(held.count, held.all.size());
  while (at > 0 && held.all[at - 1] != &lock) {
    --at;
  }
  for (std::size_t i = at; at > 0 && i < std::min(held.count, held.all.size()); ++i) {
    held.all[i - 1] = held.all[i];
  }
  held.count -= held.count > 0 ? 1 : 0;
}
void let_go_of_all();

}  // namespace sluice

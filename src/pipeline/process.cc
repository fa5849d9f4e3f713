#include "pipeline/process.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "pipeline/area.h"
#include "pipeline/entries.h"
#include "pipeline/lines.h"

// Bare system calls: in a program these are calls of Sluice's, which pass no stage.
namespace sluice {

thread_local constinit pid_t known_thread = 0;
thread_local constinit HeldLocks held_locks;
constinit std::atomic<std::uint32_t> lock_space = 0;

namespace {

constinit Process process;
constinit std::atomic<bool> whole = false;  // also when it was started is known
constinit std::atomic<mode_t> mask = 0;
constinit std::atomic<std::uint64_t> file_limit = 0;  // 0 = not looked up

constexpr int spins = 200;
constexpr long nap = 50000;                // nanoseconds
constexpr int naps_for_stranger = 10000;   // until who may live or not has lost its lock
constexpr int naps_until_asked = 200;      // whether it is still the program that took it
constexpr std::uint32_t thread_bits = 22;  // of a thread's number
constexpr std::uint32_t other_space = 1U << 31U;
constexpr std::uint32_t spaces = 1U << 9U;

// What /proc/ID/stat says behind the name: 0 or more characters.
std::size_t read_stat(pid_t id, char* out, std::size_t size) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", id);
  const auto fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
  if (fd < 0) {
    return 0;
  }
  const ssize_t got = syscall(SYS_read, fd, out, size - 1);
  syscall(SYS_close, fd);
  out[got > 0 ? got : 0] = 0;
  // The name is in parentheses and may have some itself.
  const char* end = std::strrchr(out, ')');
  if (end == nullptr) {
    return 0;
  }
  std::memmove(out, end + 1, std::strlen(end + 1) + 1);
  return std::strlen(out);
}

// Behind so many blanks; null where there are less.
const char* word_at(const char* stat, int number) {
  for (int i = 0; i < number && stat != nullptr; ++i) {
    stat = std::strchr(stat + (i == 0 ? 0 : 1), ' ');
  }
  return stat;
}

bool is_dead(const char* stat) {
  return stat[1] == 'Z' || stat[1] == 'X';
}

// A process may go on without the thread that it began with.
bool has_ended(const char* stat) {
  constexpr int threads = 18;
  const char* count = word_at(stat, threads);
  return is_dead(stat) && (count == nullptr || std::strtoul(count, nullptr, 10) <= 1);
}

// Whether a thread can still give its lock back. REQUIRES: it is of our space of numbers.
bool thread_lives(std::uint32_t thread) {
  const auto id = static_cast<pid_t>(thread & ((1U << thread_bits) - 1));
  if (syscall(SYS_kill, id, 0) != 0 && errno == ESRCH) {
    return false;
  }
  char text[1024];
  return read_stat(id, text, sizeof text) == 0 || !is_dead(text);
}

// Whether a process has the memory of the run. It has not where the first thread was in the middle of a call
// when another one started a program that we are not in: that has its number, and gives nothing back.
bool has_area(std::uint32_t thread) {
  const Area* area = this_area();
  const char* own = area == nullptr ? nullptr : std::strrchr(area->own_path.data(), '/');
  const std::uint32_t id = thread & ((1U << thread_bits) - 1);
  char text[64];
  // The keeper has it from before it got its name.
  std::snprintf(text, sizeof text, "/proc/%d/task/%u", area == nullptr ? 0 : area->keeper, id);
  if (syscall(SYS_faccessat, AT_FDCWD, text, F_OK) == 0) {
    return true;
  }
  if (own == nullptr || *own == 0) {
    return true;
  }
  std::snprintf(text, sizeof text, "/proc/%u/maps", id);
  return find_line(text, [&](const char* line) { return std::strstr(line, own) != nullptr; }) != Lines::none;
}

void look() {
  known_thread = 0;
  forget_trace();
  process.id = static_cast<pid_t>(syscall(SYS_getpid));
  if (!whole.load(std::memory_order_relaxed)) {
    return;
  }
  const Area* area = this_area();
  // In another space of numbers nobody could tell whether this process lives.
  const bool known = area != nullptr && area->process_space == process_space();
  process.started = known ? process_start(process.id) : 0;
  const auto space = static_cast<std::uint32_t>(process_space() % spaces);
  lock_space = known || area == nullptr ? 0 : other_space | space << thread_bits;
}

// Not with a lock that a thread of its parent has.
void look_in_child() {
  if (held_locks.count != 0) [[unlikely]] {
    part_from_area();
  }
  forked_by = held_buffers.count != 0 ? lock_owner() : 0;  // the parent's number still
  look();
}

// There is no other way to ask for it than to change it.
mode_t umask_of_process() {
  char text[4096];
  const auto fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC));
  const ssize_t got = fd < 0 ? 0 : syscall(SYS_read, fd, text, sizeof text - 1);
  if (fd >= 0) {
    syscall(SYS_close, fd);
  }
  text[got > 0 ? got : 0] = 0;
  const char* found = std::strstr(text, "\nUmask:");
  return found == nullptr ? 077 : static_cast<mode_t>(std::strtoul(found + 7, nullptr, 8));
}

}  // namespace

pid_t look_up_thread() {
  known_thread = static_cast<pid_t>(syscall(SYS_gettid));
  return known_thread;
}

pid_t look_up_lock_owner() {
  return static_cast<pid_t>(static_cast<std::uint32_t>(syscall(SYS_gettid)) |
                            lock_space.load(std::memory_order_relaxed));
}

const Process& this_process() {
  return process;
}

void begin_threads() {
  static std::atomic<bool> done = false;
  if (!done.exchange(true)) {
    look();
    pthread_atfork(nullptr, nullptr, look_in_child);
  }
}

void begin_process() {
  if (!whole.load(std::memory_order_relaxed) && !whole.exchange(true)) {
    begin_threads();
    look();
    set_umask(umask_of_process());
  }
}

void begin_child() {
  look_in_child();
}

mode_t this_umask() {
  return mask.load(std::memory_order_relaxed);
}
void set_umask(mode_t value) {
  mask.store(value & 0777, std::memory_order_relaxed);
}

Locked wait_for_lock(std::atomic<std::uint32_t>& lock, pid_t thread, int patience) {
  const auto self = static_cast<std::uint32_t>(thread);
  int turns = 0;
  int naps = 0;  // for the same one
  std::uint32_t before = 0;
  for (;;) {
    std::uint32_t holder = 0;
    if (lock.compare_exchange_strong(holder, self, std::memory_order_acquire)) [[likely]] {
      return Locked::yes;
    }
    if (holder == self) {
      return Locked::already;
    }
    if (has_parted()) [[unlikely]] {  // whoever had it is in another copy
      lock.store(self, std::memory_order_relaxed);
      return Locked::yes;
    }
    if (++turns <= spins) {
      __builtin_ia32_pause();
      continue;
    }
    const bool stranger = ((holder ^ self) >> thread_bits) != 0;
    naps = holder == before ? naps + 1 : 0;
    before = holder;
    const bool long_ago = naps % naps_until_asked == naps_until_asked - 1;
    if (stranger ? naps > naps_for_stranger : !thread_lives(holder) || (long_ago && !has_area(holder))) {
      lock.compare_exchange_strong(holder, 0);
      continue;
    }
    if (patience > 0 && (turns - spins) * nap > static_cast<std::int64_t>(patience) * 1000000) {
      return Locked::no;
    }
    const timespec time{.tv_sec = 0, .tv_nsec = nap};
    syscall(SYS_nanosleep, &time, nullptr);
  }
}

void let_go_of_all() {
  HeldLocks& held = held_locks;
  for (std::size_t i = std::min(held.count, held.all.size()); i > 0; --i) {
    auto self = static_cast<std::uint32_t>(lock_owner());
    held.all[i - 1]->compare_exchange_strong(self, 0);
  }
  held.count = 0;
}

std::uint64_t this_file_limit() {
  std::uint64_t out = file_limit.load(std::memory_order_relaxed);
  if (out == 0) {
    rlimit limit{};
    out = syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, nullptr, &limit) == 0 ? limit.rlim_cur : 0;
    file_limit.store(out, std::memory_order_relaxed);
  }
  return out;
}
void forget_file_limit() {
  file_limit.store(0, std::memory_order_relaxed);
}

std::uint64_t process_start(pid_t id) {
  char text[1024];
  if (read_stat(id, text, sizeof text) == 0 || has_ended(text)) {
    return 0;
  }
  constexpr int start = 20;
  const char* at = word_at(text, start);
  return at == nullptr ? 0 : std::strtoull(at, nullptr, 10);
}

int opened_again(int fd, const struct stat& file) {
  const long self = syscall(SYS_getpid);
  const auto folder =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int out = 0;
  const bool all = each_entry(folder, [&](const dirent64& entry) {
    const int other = entry.d_name[0] == '.' ? fd : std::atoi(entry.d_name);
    struct stat found {};
    const bool same = other == fd || syscall(SYS_fstat, other, &found) != 0 || found.st_ino != file.st_ino ||
                      found.st_dev != file.st_dev || syscall(SYS_kcmp, self, self, KCMP_FILE, fd, other) == 0;
    out += same ? 0 : 1;
    return true;
  });
  if (folder >= 0) {
    syscall(SYS_close, folder);
  }
  return all ? out : INT_MAX;
}

bool is_stopped(pid_t id) {
  char text[1024];
  return read_stat(id, text, sizeof text) != 0 && text[1] == 'T';
}

std::uint64_t process_space() {
  struct stat found {};
  return syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/pid", &found, 0) == 0 ? found.st_ino : 0;
}

}  // namespace sluice

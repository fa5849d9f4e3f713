#include "pipeline/buffers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// Bare system calls: in a program these are calls of Sluice's, which pass no stage.
namespace sluice {
namespace {

constexpr int spins = 200;
constexpr long nap = 50000;  // nanoseconds

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

bool is_dead(const char* stat) {
  return stat[1] == 'Z' || stat[1] == 'X';
}

// Whether a thread can still give its lock back.
bool thread_lives(std::uint32_t thread) {
  const auto id = static_cast<pid_t>(thread);
  if (syscall(SYS_kill, id, 0) != 0 && errno == ESRCH) {
    return false;
  }
  char text[1024];
  return read_stat(id, text, sizeof text) == 0 || !is_dead(text);
}

constexpr std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1000000000 + time.tv_nsec;
}

}  // namespace

Locked wait_for_buffer(Buffer& buffer, pid_t thread, int patience) {
  const auto self = static_cast<std::uint32_t>(thread);
  int turns = 0;
  for (;;) {
    std::uint32_t holder = 0;
    if (buffer.lock.compare_exchange_strong(holder, self, std::memory_order_acquire)) [[likely]] {
      return Locked::yes;
    }
    if (holder == self) {
      return Locked::already;
    }
    if (++turns <= spins) {
      __builtin_ia32_pause();
      continue;
    }
    if (!thread_lives(holder)) {
      buffer.lock.compare_exchange_strong(holder, 0);
      continue;
    }
    if (patience > 0 && (turns - spins) * nap > static_cast<std::int64_t>(patience) * 1000000) {
      return Locked::no;
    }
    const timespec time{.tv_sec = 0, .tv_nsec = nap};
    syscall(SYS_nanosleep, &time, nullptr);
  }
}

std::uint64_t process_start(pid_t process) {
  char text[1024];
  if (read_stat(process, text, sizeof text) == 0 || is_dead(text)) {
    return 0;
  }
  // The 20th word from the state on.
  const char* at = text;
  for (int i = 0; i < 20 && at != nullptr; ++i) {
    at = std::strchr(at + (i == 0 ? 0 : 1), ' ');
  }
  return at == nullptr ? 0 : std::strtoull(at, nullptr, 10);
}

bool is_alive(const Buffer& buffer) {
  return buffer.process != 0 && process_start(buffer.process) == buffer.started;
}

std::uint64_t process_space() {
  struct stat found {};
  return syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/pid", &found, 0) == 0 ? found.st_ino : 0;
}

FileStamp stamp_of(int fd, bool& good) {
  struct stat found {};
  good = syscall(SYS_fstat, fd, &found) == 0;
  return {
      .size = found.st_size, .changed = nanoseconds(found.st_mtim), .touched = nanoseconds(found.st_ctim)};
}

FileHandle handle_of(int fd, int& mount) {
  FileHandle out;
  constexpr std::uint32_t room = sizeof out.bytes - 8;
  std::memcpy(out.bytes.data(), &room, sizeof room);
  mount = -1;
  if (syscall(SYS_name_to_handle_at, fd, "", out.bytes.data(), &mount, AT_EMPTY_PATH) == 0) {
    return out;
  }
  struct statx found {};
  if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &found) == 0 &&
      (found.stx_mask & STATX_MNT_ID) != 0) {
    mount = static_cast<int>(found.stx_mnt_id);
  }
  return {};
}

}  // namespace sluice

#include "pipeline/buffers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "pipeline/lines.h"

// Bare system calls: in a program these are calls of Sluice's, which pass no stage.
namespace sluice {

thread_local constinit HeldBuffers held_buffers;
thread_local constinit pid_t forked_by = 0;

namespace {

// A line of /proc/locks where the kernel has somebody wait until a lease is given back:
// "7: LEASE  BREAKING  UNLCK 4711 fe:00:1234 0 EOF"
bool is_breaking(const char* line, const Buffer& buffer) {
  unsigned long process = 0;
  unsigned major = 0;
  unsigned minor = 0;
  unsigned long inode = 0;
  const char* kind = std::strstr(line, "LEASE");
  // A file system with several devices (btrfs) has another number here: then whose it is has to do.
  return kind != nullptr &&
         std::sscanf(kind, "LEASE BREAKING %*s %lu %x:%x:%lu", &process, &major, &minor, &inode) == 4 &&
         inode == buffer.inode &&
         (makedev(major, minor) == buffer.device || process == static_cast<unsigned long>(buffer.process));
}

// Whether what is on the stack there is gone when it reaches down to `to` alone. Addresses tell that on one
// stack alone: a handler may have another.
bool is_gone(std::uintptr_t frame, std::uintptr_t to) {
  stack_t other{};
  const bool known = syscall(SYS_sigaltstack, nullptr, &other) == 0 && (other.ss_flags & SS_DISABLE) == 0;
  const auto is_there = [&](std::uintptr_t at) {
    return known && at - reinterpret_cast<std::uintptr_t>(other.ss_sp) < other.ss_size;
  };
  return is_there(frame) == is_there(to) ? to >= frame : is_there(frame);
}

// The one further out with the same buffer, whose lock it is; the number of them where there is none.
std::size_t outer_of(std::size_t depth) {
  HeldBuffers& held = held_buffers;
  std::size_t out = depth;
  while (out > 0 && held.at(out - 1).buffer != held.at(depth).buffer) {
    --out;
  }
  return out == 0 ? held.count : out - 1;
}

// REQUIRES: this thread has the lock.
void take_back(HeldBuffer& call) {
  std::int64_t taken = call.taken;
  if (taken >= 0) {
    call.buffer->position.compare_exchange_strong(taken, call.at, std::memory_order_relaxed);
  }
  call.taken = -1;
}

}  // namespace

void leave_buffers(std::uintptr_t to) {
  HeldBuffers& held = held_buffers;
  const auto self = static_cast<std::uint32_t>(lock_owner());
  while (held.count > 0 && is_gone(held.at(held.count - 1).frame, to)) {
    const std::size_t depth = held.count - 1;
    HeldBuffer& call = held.at(depth);
    if (call.buffer != nullptr && call.buffer->lock.load(std::memory_order_relaxed) == self) {
      take_back(call);
      if (outer_of(depth) == held.count) {
        unlock_buffer(*call.buffer);
      }
    }
    held.count = depth;
  }
}

Locked BufferHold::take_over(std::size_t depth) {
  HeldBuffers& held = held_buffers;
  const std::size_t outer = outer_of(depth);
  if (outer != held.count) {
    if (depth >= held.all.size() || !is_gone(held.at(outer).frame, held.at(depth).frame)) {
      return Locked::already;
    }
    take_back(held.at(outer));
  }
  return Locked::yes;
}

bool is_alive(const Buffer& buffer) {
  return buffer.process != 0 && process_start(buffer.process) == buffer.started;
}

FileStamp stamp_of(int fd, bool& good) {
  struct stat found {};
  good = syscall(SYS_fstat, fd, &found) == 0;
  return {
      .size = found.st_size, .changed = nanoseconds(found.st_mtim), .touched = nanoseconds(found.st_ctim)};
}

// A time that no write of another can be given by a clock that ticks; the file stands as it says then.
static bool try_stamp(Buffer& buffer, int fd) {
  constexpr std::int64_t tick = 10000000;  // nanoseconds in which a file system may not tell two writes apart
  bool good = false;
  buffer.stamp = stamp_of(fd, good);
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (!good || nanoseconds(now) - buffer.stamp.changed > tick) {
    return good;
  }
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, now};
  if (syscall(SYS_utimensat, fd, nullptr, times, 0) != 0) {
    return false;
  }
  buffer.stamp = stamp_of(fd, good);
  return good && buffer.stamp.changed == nanoseconds(now);
}

bool stamp_file(Buffer& buffer, int fd) {
  bool good = false;
  do {
    buffer.disturbed = false;
    good = try_stamp(buffer, fd);
  } while (buffer.disturbed);
  return good;
}

bool is_unchanged(int fd, const Buffer& buffer) {
  bool good = false;
  return stamp_of(fd, good) == buffer.stamp && good;
}

bool is_lease_kept(int fd, const Buffer& buffer) {
  const long lease = syscall(SYS_fcntl, fd, F_GETLEASE);
  // One for reading is what is left, or will be, where somebody wants to read: no writer has come.
  if (!buffer.leased || lease == F_WRLCK || lease == F_RDLCK) {
    return buffer.leased;
  }
  bool good = false;
  const FileStamp now = stamp_of(fd, good);
  return (good && now.size == buffer.stamp.size && now.changed == buffer.stamp.changed) ||
         find_line("/proc/locks", [&](const char* line) { return is_breaking(line, buffer); }) == Lines::some;
}

// Not where a handle is of what the file system has in memory: mounted again, a file has another.
static bool are_handles_lasting(int fd) {
  constexpr long fuse = 0x65735546;
  constexpr long vfat = 0x4d44;
  constexpr long exfat = 0x2011BAB0;
  struct statfs found {};
  return syscall(SYS_fstatfs, fd, &found) == 0 && found.f_type != fuse && found.f_type != vfat &&
         found.f_type != exfat;
}

FileHandle handle_of(int fd, int& mount) {
  FileHandle out;
  constexpr std::uint32_t room = sizeof out.bytes - 8;
  std::memcpy(out.bytes.data(), &room, sizeof room);
  mount = -1;
  if (syscall(SYS_name_to_handle_at, fd, "", out.bytes.data(), &mount, AT_EMPTY_PATH) == 0) {
    return are_handles_lasting(fd) ? out : FileHandle();
  }
  struct statx found {};
  if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &found) == 0 &&
      (found.stx_mask & STATX_MNT_ID) != 0) {
    mount = static_cast<int>(found.stx_mnt_id);
  }
  return {};
}

}  // namespace sluice

#include "stages/writeback/keep.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/clock.h"
#include "pipeline/lines.h"
#include "pipeline/tell.h"

namespace sluice::writeback {

namespace {

constexpr std::uint64_t farthest = std::uint64_t{1} << 43;  // beyond it file systems say no at once
constexpr std::uint32_t poor_writes = 4;                    // fewer in one go are not worth it
constexpr std::uint32_t most_poor = 8;                      // times, and it is left alone for a while
constexpr int answer_tenths = 10;                           // of a second: so long the keeper is waited for
constexpr int leave_tenths = 100;

int control(int fd, int command, long argument) {
  return static_cast<int>(syscall(SYS_fcntl, fd, command, argument));
}

std::uint32_t index_of(Area& area, const Buffer& buffer) {
  return static_cast<std::uint32_t>(&buffer - area.all_buffers().data());
}

void forget_owner(int fd) {
  control(fd, F_SETSIG, 0);
  f_owner_ex nobody{.type = F_OWNER_PID, .pid = 0};
  syscall(SYS_fcntl, fd, F_SETOWN_EX, &nobody);
}

// Whom the kernel is to tell when another opens the file. Nothing that is the program's already is changed.
bool take_lease(const Area& area, int fd) {
  if (control(fd, F_GETSIG, 0) != 0 || control(fd, F_GETOWN, 0) != 0) {
    return false;
  }
  f_owner_ex owner{.type = F_OWNER_TID, .pid = area.keeper_thread};
  if (syscall(SYS_fcntl, fd, F_SETOWN_EX, &owner) == 0 && control(fd, F_SETSIG, keeper_signal) == 0 &&
      control(fd, F_SETLEASE, F_WRLCK) == 0) {
    return true;
  }
  forget_owner(fd);
  return false;
}

void give_lease_back(int fd) {
  control(fd, F_SETLEASE, F_UNLCK);
  forget_owner(fd);
}

// Whether a line of /proc/self/maps is of the file: "... rw-s 00000000 fe:00 1234 /path".
bool is_mapping(const char* line, const struct stat& file) {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned long inode = 0;
  return std::sscanf(line, "%*s %*s %*s %x:%x %lu", &major, &minor, &inode) == 3 && inode == file.st_ino &&
         (makedev(major, minor) == file.st_dev || major == 0);  // btrfs has another number here
}

// Whether this process has the file open in no other way, in which it would not see what is kept back. Looks
// at all its descriptors and mappings, once a file.
bool is_only_open(int fd, const struct stat& file) {
  return opened_again(fd, file) == 0 && find_line("/proc/self/maps", [&](const char* line) {
                                          return is_mapping(line, file);
                                        }) == Lines::none;
}

// Whose the bytes are. The mount's number, or -1.
int name_file(BlockHead& head, int fd) {
  int mount = -1;
  head.handle = handle_of(fd, mount);
  head.filesystem = filesystem_of(fd);
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const long length = syscall(SYS_readlink, link, head.path.data(), head.path.size() - 1);
  if (length <= 0) {
    return -1;
  }
  head.path[static_cast<std::size_t>(length)] = 0;
  return mount;
}

const AreaMount* mount_of(const Area& area, int id) {
  for (std::uint32_t i = 0; i < area.mount_count; ++i) {
    if (area.mounts[i].id == id) {
      return &area.mounts[i];
    }
  }
  return nullptr;
}

bool has_room(const Area& area, int fd) {
  struct statfs found {};
  // What all buffers of the run may need twice over: a disk that is nearly full says so in time.
  const std::uint64_t wanted = 2 * (std::uint64_t{area.keeping.load()} + 1) * block_bytes;
  return syscall(SYS_fstatfs, fd, &found) == 0 &&
         static_cast<std::uint64_t>(found.f_bavail) * static_cast<std::uint64_t>(found.f_bsize) >= wanted;
}

bool within_limit(std::uint64_t end) {
  rlimit limit{};
  return syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, nullptr, &limit) == 0 && end <= limit.rlim_cur;
}

// A child goes on with what its parent, who has ended, had kept back: somebody must be looked after.
void adopt(Area& area, Buffer& buffer) {
  if (buffer.process == this_process().id || this_process().started == 0 || is_alive(buffer)) {
    return;
  }
  buffer.process = this_process().id;
  buffer.started = this_process().started;
  tell_keeper(area,
              {.kind = KeeperMessage::watch,
               .buffer = index_of(area, buffer),
               .generation = buffer.generation,
               .process = this_process().id},
              -1);
}

bool is_leased(int fd) {
  return control(fd, F_GETLEASE, 0) == F_WRLCK;
}

// Where nobody has written in time for who wants to open the file, the kernel has let that one in.
bool is_still_ours(const Buffer& buffer, int fd) {
  return buffer.level != Level::strict || is_lease_kept(fd, buffer) || is_unchanged(fd, buffer);
}

// Gives it to the keeper, who has it when this returns, or never: without it nobody could write for who
// waits.
bool is_held(const Area& area, Buffer& buffer, const KeeperMessage& message, int fd) {
  buffer.held = 1;
  if (tell_keeper(area, message, fd)) {
    wait_for_keeper(area, buffer, 1, answer_tenths);
  }
  std::uint32_t asked = 1;
  return !buffer.held.compare_exchange_strong(asked, 0) && asked == 2;
}

}  // namespace

bool engage(Area& area, Buffer& buffer, const Settings& settings, int fd) {
  const Unsignalled whole;
  struct stat found {};
  if (area.over != 0 || this_process().started == 0 || syscall(SYS_fstat, fd, &found) != 0 ||
      !S_ISREG(found.st_mode)) {
    area.note(Unkept::unattended);
    return false;
  }
  // The keeper does not act for another user.
  if (static_cast<uid_t>(syscall(SYS_geteuid)) != area.user) {
    area.note(Unkept::user);
    return false;
  }
  if (!has_room(area, fd)) {
    area.note(Unkept::full);
    return false;
  }
  buffer.retired = true;  // until all is well
  const std::uint32_t block = area.take_block();
  if (block == 0) {
    buffer.retired = false;  // there may be one later
    area.note(Unkept::memory);
    return false;
  }
  // Whoever is killed in between leaves one too many, not less than none.
  area.keeping.fetch_add(1, std::memory_order_relaxed);
  buffer.block.store(block);
  buffer.level = settings.level;
  buffer.process = this_process().id;
  buffer.started = this_process().started;
  buffer.device = found.st_dev;
  buffer.inode = found.st_ino;
  buffer.leased = false;
  buffer.began = 0;
  buffer.base = 0;
  buffer.end = 0;
  BlockHead& head = area.head_of(buffer);
  const AreaMount* mount = mount_of(area, name_file(head, fd));
  const std::uint32_t liked = mount != nullptr && mount->align > 0 ? mount->align : block_bytes;
  buffer.align = settings.block > 0 ? static_cast<std::uint32_t>(settings.block) : liked;
  const KeeperMessage message{.kind = KeeperMessage::hold,
                              .buffer = index_of(area, buffer),
                              .generation = buffer.generation,
                              .process = this_process().id};
  bool good = head.path[0] == '/' && stamp_file(buffer, fd);
  if (good && settings.level == Level::strict) {
    buffer.leased = mount != nullptr && take_lease(area, fd);
    good = buffer.leased;
  } else {
    good = good && is_only_open(fd, found);
  }
  if (!good || !is_held(area, buffer, message, fd)) {
    area.note(good                              ? Unkept::unattended
              : settings.level == Level::strict ? Unkept::shared
                                                : Unkept::given_up);
    disengage(area, buffer, fd);
    return false;
  }
  buffer.retired = false;
  return true;
}

bool begin_extent(Area& area, Buffer& buffer, int fd, std::uint64_t offset) {
  if (offset > farthest) {
    buffer.wait = 1;
    return false;
  }
  // The keeper had to let somebody in, and could not write what was kept back before.
  if (buffer.level == Level::strict && !buffer.leased) {
    buffer.retired = true;
    area.note(Unkept::shared);
    return false;
  }
  adopt(area, buffer);
  const std::uint64_t end = (offset / buffer.align + 1) * buffer.align;
  if (buffer.writes < poor_writes && buffer.base != buffer.end) {
    if (++buffer.poor >= most_poor) {
      buffer.poor = most_poor - 1;
      buffer.wait = 256;
      area.note(Unkept::scattered);
      return false;
    }
  } else {
    buffer.poor = 0;
  }
  if (area.over != 0 || !keeper_lives(area) || !within_limit(end) || !has_room(area, fd) ||
      !stamp_file(buffer, fd)) {
    buffer.wait = 16;
    return false;
  }
  buffer.writes = 0;
  // A handler that comes in between must not take one for the other.
  buffer.end = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  buffer.base = offset;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  buffer.end = end;
  return true;
}

void stamp_again(Buffer& buffer, int fd, bool ours) {
  const FileStamp before = buffer.stamp;
  if (ours && (!stamp_file(buffer, fd) || (buffer.leased && !is_leased(fd)))) {
    buffer.stamp = before;
  }
  buffer.disturbed = true;
}

Written write_copy(Area& area, const Buffer& buffer, const sluice_activity& about, const sluice_next* next) {
  const std::uint64_t length = buffer.length.load(std::memory_order_relaxed);
  if (length > 0 && !is_still_ours(buffer, about.descriptor)) {
    return {.error = EIO};  // it stays where it is, for `sluice recover`
  }
  constexpr int most_interrupted = 100;
  int interrupted = 0;
  std::uint64_t done = 0;
  while (done < length) {
    sluice_activity one = about;
    one.operation = SLUICE_WRITE;
    one.flags = 0;
    one.data = area.bytes_of(buffer) + done;
    one.length = length - done;
    one.offset = static_cast<std::int64_t>(buffer.base + done);
    const std::int64_t moved = next->act(next, &one);
    if (moved <= 0 && (one.error != EINTR || ++interrupted > most_interrupted)) {
      return {.error = moved < 0 ? one.error : EIO, .bytes = done};
    }
    done += static_cast<std::uint64_t>(std::max<std::int64_t>(moved, 0));
  }
  return {.error = 0, .bytes = done};
}

Written flush_some(Area& area, Buffer& buffer, const sluice_activity& about, const sluice_next* next) {
  if (buffer.length.load(std::memory_order_relaxed) == 0) {
    return {};
  }
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  buffer.began.store(nanoseconds(now), std::memory_order_relaxed);
  const bool ours = buffer.leased || is_unchanged(about.descriptor, buffer);
  const Written out = write_copy(area, buffer, about, next);
  if (out.error != 0) {
    buffer.unwritten = true;
    area.unwritten = 1;
    stamp_again(buffer, about.descriptor, ours);  // a part of it may be written
  } else {
    area.count_flush(buffer);
    buffer.length.store(0, std::memory_order_release);
    buffer.unwritten = false;
  }
  buffer.began.store(0, std::memory_order_relaxed);
  return out;
}

int hand_position_back(Buffer& buffer, const sluice_activity& about, const sluice_next* next) {
  std::int64_t position = buffer.position.load(std::memory_order_relaxed);
  while (position >= 0) {
    sluice_activity move = about;
    move.operation = SLUICE_SEEK;
    move.offset = position;
    move.flags = SEEK_SET;
    if (next->act(next, &move) < 0) {
      return move.error;  // ours counts on
    }
    // A handler that came meanwhile has moved it.
    if (buffer.position.compare_exchange_strong(position, -1, std::memory_order_relaxed)) {
      return 0;
    }
  }
  return 0;
}

void disengage(Area& area, Buffer& buffer, int fd) {
  const Unsignalled whole;
  if (buffer.leased && fd >= 0) {
    give_lease_back(fd);
  }
  buffer.leased = false;
  // The keeper's duplicate must be gone before ours is: programs cannot be run, and file systems not be
  // unmounted, while somebody has a file open.
  const KeeperMessage message{.kind = KeeperMessage::drop,
                              .buffer = index_of(area, buffer),
                              .generation = buffer.generation,
                              .process = buffer.process};
  if (buffer.held != 0 && tell_keeper(area, message, -1)) {
    wait_for_keeper(area, buffer, 2, leave_tenths);
  } else if (std::uint32_t held = 2; buffer.held.compare_exchange_strong(held, 3)) {
    // A signal needs no descriptor.
    if (syscall(SYS_tgkill, area.keeper, area.keeper_thread, keeper_signal) == 0) {
      wait_for_keeper(area, buffer, 3, leave_tenths);
    }
  }
  buffer.held = 0;
  area.give_block_back(buffer);
}

}  // namespace sluice::writeback

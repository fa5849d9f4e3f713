#include "pipeline/parts.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "pipeline/area.h"
#include "pipeline/tell.h"
#include "pipeline/write_at.h"

// Bare system calls: in a program these are calls of Sluice's, which pass no stage.
namespace sluice {
namespace {

constexpr int most_naps = 600000;  // of a millisecond, until somebody waits no longer
constexpr std::uint32_t most_probes = 64;

std::uint64_t key_of(std::uint64_t device, std::uint64_t inode) {
  const std::uint64_t mixed = (inode + 1) * 0x9e3779b97f4a7c15 ^ device * 0xc2b2ae3d27d4eb4f;
  return mixed == 0 ? 1 : mixed;
}

std::uint64_t hash_of(const void* bytes, std::size_t length) {
  return path_hash({static_cast<const char*>(bytes), length});
}

// Begins a log: 0 or errno.
int put_head(const AreaParts& parts, const AreaPart& part, int fd) {
  const AreaWhole& whole = parts.wholes[part.whole];
  LogHead head;
  head.whole = part.whole;
  head.generation = whole.generation;
  head.inode = whole.inode;
  head.stamp = whole.stamp;
  head.path = whole.path;
  std::memcpy(head.run.data(), this_area()->own_path.data(), head.run.size());
  head.check = check_of(head);
  return write_at(fd, &head, sizeof head, 0);
}

// What is noted goes behind what the log has; 0 or errno.
int put_pieces(AreaPart& part, int fd) {
  std::array<LogPiece, AreaPart::most_pieces> out = {};
  const std::uint32_t count = part.count;
  for (std::uint32_t i = 0; i < count; ++i) {
    out[i].piece = part.pieces[i];
    out[i].check = check_of(out[i]);
  }
  if (const int error = write_at(fd, out.data(), count * sizeof(LogPiece), part.logged); error != 0) {
    return error;
  }
  // Whoever is killed between these has some twice, which is no matter.
  part.logged += count * sizeof(LogPiece);
  part.count.store(0, std::memory_order_release);
  return 0;
}

void take_nap() {
  const timespec nap{.tv_sec = 0, .tv_nsec = 1000000};
  syscall(SYS_nanosleep, &nap, nullptr);
}

// Whether a log is ours, and not one that others put there for us to write to. One that is to begin has a
// head at most, of whoever was killed then.
bool is_own_log(const AreaPart& part, int fd) {
  struct stat found {};
  return syscall(SYS_fstat, fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == this_area()->user &&
         found.st_nlink == 1 && (part.logged != 0 || found.st_size <= static_cast<off_t>(sizeof(LogHead)));
}

// The descriptor of a log, or -1.
int open_log(const AreaPart& part, const char* path) {
  constexpr int flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  auto fd = static_cast<int>(
      part.logged == 0 ? syscall(SYS_openat, AT_FDCWD, path, flags | O_CREAT | O_EXCL, 0600) : -1);
  const bool made = fd >= 0;
  if (!made && (part.logged != 0 || errno == EEXIST)) {
    fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags));
  }
  if (fd >= 0 && !is_own_log(part, fd)) {
    if (made) {
      syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    }
    syscall(SYS_close, fd);
    errno = EACCES;
    return -1;
  }
  return fd;
}

int sync_path(const char* path, int flags) {
  const auto fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC));
  const int error = fd < 0 || syscall(SYS_fsync, fd) != 0 ? errno : 0;
  if (fd >= 0) {
    syscall(SYS_close, fd);
  }
  return error;
}

// The names of a part and its log are on the device.
int sync_folder(const AreaPart& part) {
  std::array<char, sizeof part.data> folder = part.data;
  char* slash = std::strrchr(folder.data(), '/');
  slash[slash == folder.data() ? 1 : 0] = 0;
  return sync_path(folder.data(), O_RDONLY | O_DIRECTORY);
}

}  // namespace

AreaParts* this_parts() {
  Area* area = this_area();
  return area == nullptr || area->parts == 0 ? nullptr : area->at<AreaParts>(area->parts);
}

AreaWhole* whole_of(AreaParts& parts, std::uint64_t device, std::uint64_t inode) {
  const std::uint32_t top = parts.top.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < top; ++i) {
    AreaWhole& row = parts.wholes[i];
    // Without the lock: a row may become another file's meanwhile, and has another generation then.
    const std::uint32_t generation = row.generation;
    if (is_parted(row) && row.inode == inode && row.device == device && row.generation == generation) {
      // With nobody left who has it open, the number may be another file's.
      return row.removed == 0 || keeper_lives(*this_area()) ? &row : nullptr;
    }
  }
  return nullptr;
}

bool is_being_gathered(const AreaWhole& whole) {
  if (whole.state.load(std::memory_order_acquire) != AreaWhole::gathering || has_parted()) {
    return false;
  }
  const int saved = errno;
  errno = 0;
  const std::uint64_t since = whole.gathering_since;
  const bool lives =
      since != 0 && (process_start(whole.gatherer) == since || errno == EMFILE || errno == ENFILE);
  errno = saved;
  return lives;
}

void wait_for_gatherer(std::uint64_t device, std::uint64_t inode) {
  AreaParts* parts = this_parts();
  const AreaWhole* whole = parts == nullptr ? nullptr : whole_of(*parts, device, inode);
  const std::uint32_t generation = whole == nullptr ? 0 : whole->generation.load();
  for (int i = 0;
       i < most_naps && whole != nullptr && whole->generation == generation && is_being_gathered(*whole);
       ++i) {
    take_nap();
  }
}

bool is_changed_since(const AreaWhole& whole, std::int64_t changed, std::int64_t touched) {
  const std::int64_t last = whole.changed;
  return last != 0 && (whole.settled != 0 || changed == whole.stamp.changed || last > touched);
}

LastName::LastName(int folder, const char* path) : folder_(folder), path_(path) {
  if (!is_parted() || path == nullptr) [[likely]] {
    return;
  }
  const int saved = errno;
  struct stat found {};
  if (syscall(SYS_newfstatat, folder, path, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(found.st_mode) &&
      found.st_nlink == 1) {
    device_ = found.st_dev;
    inode_ = found.st_ino;
  }
  errno = saved;
}

int LastName::removed(int result) const {
  const int saved = errno;
  struct stat now {};
  if (result == 0 && inode_ != 0 &&
      (syscall(SYS_newfstatat, folder_, path_, &now, AT_SYMLINK_NOFOLLOW) != 0 || now.st_ino != inode_ ||
       now.st_dev != device_)) {
    if (AreaWhole* whole = whole_of(*this_parts(), device_, inode_); whole != nullptr) {
      whole->removed = 1;
    }
  }
  errno = saved;
  return result;
}

void note_native(AreaParts& parts, std::uint64_t device, std::uint64_t inode) {
  const std::uint64_t key = key_of(device, inode);
  for (std::uint32_t i = 0; i < most_probes; ++i) {
    std::atomic<std::uint64_t>& row = parts.native[(key + i) % parts.native.size()];
    std::uint64_t found = row.load(std::memory_order_relaxed);
    if (found == key || (found == 0 && row.compare_exchange_strong(found, key)) || found == key) {
      return;
    }
  }
  parts.full = 1;
}

bool is_native(const AreaParts& parts, std::uint64_t device, std::uint64_t inode) {
  const std::uint64_t key = key_of(device, inode);
  for (std::uint32_t i = 0; i < most_probes; ++i) {
    const std::uint64_t found = parts.native[(key + i) % parts.native.size()].load();
    if (found == key || found == 0) {
      return found == key;
    }
  }
  return false;
}

int make_native(std::uint64_t device, std::uint64_t inode) {
  AreaParts* parts = this_parts();
  if (parts == nullptr) {
    return 0;
  }
  {
    // From here on nobody makes a whole of it.
    const PartLock lock(parts->lock);
    note_native(*parts, device, inode);
  }
  return bring_together(device, inode);
}

int bring_together(std::uint64_t device, std::uint64_t inode) {
  AreaParts* parts = this_parts();
  AreaWhole* whole = parts == nullptr || parts->live == 0 ? nullptr : whole_of(*parts, device, inode);
  if (whole == nullptr) {
    return 0;
  }
  const Area& area = *this_area();
  const std::uint32_t generation = whole->generation;
  const std::uint32_t failures = whole->failures;
  whole->wanted = 1;
  for (int i = 0; i < most_naps && !has_parted(); ++i) {
    if (i % 256 == 0 &&
        !tell_keeper(area, {.kind = KeeperMessage::home, .buffer = 0, .generation = 0, .process = 0}, -1)) {
      if (errno == EMFILE || errno == ENFILE) {
        return errno;
      }
      if (!keeper_lives(area)) {
        wait_for_gatherer(device, inode);
        return 0;
      }
    }
    if (whole->generation != generation || whole->state == AreaWhole::unused) {
      return 0;
    }
    if (whole->failures != failures) {
      return whole->error;
    }
    take_nap();
  }
  return ETIMEDOUT;
}

int make_native(int folder, const char* path) {
  const int saved = errno;
  struct stat found {};
  const bool there = path != nullptr && syscall(SYS_newfstatat, folder, path, &found, 0) == 0;
  errno = saved;
  return there && S_ISREG(found.st_mode) ? make_native(found.st_dev, found.st_ino) : 0;
}

int bring_together(int folder, const char* path) {
  const int saved = errno;
  struct stat found {};
  const bool there = is_memory(path, 1) &&
                     syscall(SYS_newfstatat, folder, path, &found, *path == 0 ? AT_EMPTY_PATH : 0) == 0;
  errno = saved;
  return there && S_ISREG(found.st_mode) ? bring_together(found.st_dev, found.st_ino) : 0;
}

bool note_piece(AreaParts& parts, AreaPart& part, std::uint64_t offset, std::uint64_t length) {
  const std::uint32_t count = part.count;
  if (count > 0) {
    // One that goes on where the last one ended, before anybody else wrote anything, is the same piece.
    Piece& last = part.pieces[count - 1];
    if (last.length != Piece::cut && last.length != Piece::grown && length != Piece::cut &&
        length != Piece::grown && last.offset + last.length == offset && parts.order == last.order) {
      std::atomic_ref<std::uint64_t>(last.length).store(last.length + length, std::memory_order_release);
      return true;
    }
  }
  if (count == AreaPart::most_pieces && write_log(parts, part, false) != 0) {
    return false;
  }
  part.pieces[part.count] = {.order = parts.order.fetch_add(1) + 1, .offset = offset, .length = length};
  part.count.fetch_add(1, std::memory_order_release);
  return true;
}

int write_log(AreaParts& parts, AreaPart& part, bool sync) {
  const std::array<char, 264> path = log_path(part);
  const int fd = open_log(part, path.data());
  if (fd < 0) {
    return errno;
  }
  int error = 0;
  if (part.logged == 0) {
    error = put_head(parts, part, fd);
    part.logged = error == 0 ? log_head_bytes : 0;
  }
  error = error != 0 ? error : put_pieces(part, fd);
  if (error == 0 && sync) {
    error = sync_path(part.data.data(), O_WRONLY);  // the data first
    error = error == 0 && syscall(SYS_fsync, fd) != 0 ? errno : error;
    error = error == 0 ? sync_folder(part) : error;
  }
  syscall(SYS_close, fd);
  return error;
}

std::uint64_t check_of(const LogHead& head) {
  return hash_of(&head, offsetof(LogHead, check));
}

std::uint64_t check_of(const LogPiece& one) {
  return hash_of(&one.piece, sizeof one.piece);
}

std::array<char, 264> log_path(const AreaPart& part) {
  std::array<char, 264> out = {};
  std::snprintf(out.data(), out.size(), "%s.log", part.data.data());
  return out;
}

PartLock::PartLock(std::atomic<std::uint32_t>& lock) : lock_(lock) {
  wait_for_lock(lock_, look_up_lock_owner(), 0);
}

PartLock::~PartLock() {
  lock_.store(0, std::memory_order_release);
}

}  // namespace sluice

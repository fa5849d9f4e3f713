#include "stages/rewrite/combine.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "pipeline/answer.h"
#include "pipeline/area.h"
#include "pipeline/tell.h"

// Bare system calls: in a program these are calls of Sluice's, which pass no stage.
namespace sluice {
namespace {

constexpr int not_parted = O_APPEND | O_SYNC | O_DSYNC | O_DIRECT | O_EXCL | O_PATH | O_TMPFILE;

// What is remembered of an open file: a part and its generation in the space of a pointer, by the lowest bit
// told from the move that act_elsewhere() remembers; or that it is written natively.
struct Handle {
  AreaPart* part = nullptr;
  std::uint32_t generation = 0;
};
constexpr std::uintptr_t native_file = 1;

void* pack(AreaParts& parts, const AreaPart& part) {
  const auto index = static_cast<std::uintptr_t>(&part - parts.parts.data());
  const std::uintptr_t bits = std::uintptr_t{part.generation} << 16 | index << 1 | 1;
  return reinterpret_cast<void*>(bits);
}

Handle unpack(AreaParts& parts, const void* state) {
  const auto bits = reinterpret_cast<std::uintptr_t>(state);
  if ((bits & 1) == 0 || bits == native_file) {
    return {};
  }
  return {.part = &parts.parts[(bits & 0xffff) >> 1], .generation = static_cast<std::uint32_t>(bits >> 16)};
}

// Whether a part takes what is written. REQUIRES: its lock.
bool takes(const AreaParts& parts, const AreaPart& part) {
  return (part.generation & 1) != 0 && (part.flags & AreaPart::retired) == 0 &&
         is_parted(parts.wholes[part.whole]);
}
bool takes(const AreaParts& parts, const Handle& handle) {
  return handle.part->generation == handle.generation && takes(parts, *handle.part);
}

// The file of a descriptor is not in parts from now on: 0 or errno.
int make_file_native(int fd) {
  struct stat found {};
  return syscall(SYS_fstat, fd, &found) == 0 && S_ISREG(found.st_mode)
             ? make_native(found.st_dev, found.st_ino)
             : 0;
}

// The same, and then the call, which passes on.
std::int64_t act_natively(void** file_state, sluice_activity& activity, const sluice_next* next) {
  if (const int error = make_file_native(activity.descriptor); error != 0) {
    return fail(activity, error);
  }
  *file_state = reinterpret_cast<void*>(native_file);
  return next->act(next, &activity);
}

// Where new files are somebody else's, nobody could tell them from those that others put there.
bool make_part(const char* path, uid_t user) {
  const auto fd = static_cast<int>(
      syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (fd < 0) {
    return false;
  }
  struct stat found {};
  const bool ours = syscall(SYS_fstat, fd, &found) == 0 && found.st_uid == user;
  if (!ours) {
    syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  }
  syscall(SYS_close, fd);
  return ours;
}

// The program has changed it just now, by the clock of files.
void note_change(AreaWhole& whole) {
  const std::int64_t now = nanoseconds_of(CLOCK_REALTIME_COARSE);
  std::int64_t last = whole.changed;
  while (last < now && !whole.changed.compare_exchange_weak(last, now)) {
  }
}

// A row of a file that is to be in parts. REQUIRES: the table's lock, and there is none.
AreaWhole* new_whole(AreaParts& parts, int fd, const struct stat& found, const char* path) {
  for (std::uint32_t i = 0; i < parts.wholes.size(); ++i) {
    AreaWhole& row = parts.wholes[i];
    if (row.state != AreaWhole::unused) {
      continue;
    }
    bool good = false;
    row.wanted = 0;
    row.synced = 0;
    row.error = 0;
    row.known = 0;
    row.removed = 0;
    row.device = found.st_dev;
    row.inode = found.st_ino;
    int mount = 0;
    row.handle = handle_of(fd, mount);
    row.size = static_cast<std::uint64_t>(found.st_size);
    row.stamp = stamp_of(fd, good);
    row.began = 0;
    row.changed = 0;
    row.settled = 0;
    std::memcpy(row.path.data(), path, std::strlen(path) + 1);
    row.state.store(AreaWhole::parted, std::memory_order_release);
    parts.top = std::max(parts.top.load(), i + 1);
    parts.live.fetch_add(1);
    return &row;
  }
  return nullptr;
}

// One that is nobody's, or null. REQUIRES: the table's lock.
AreaPart* free_part(AreaParts& parts) {
  for (AreaPart& part : parts.parts) {
    if ((part.generation & 1) == 0) {
      return &part;
    }
  }
  return nullptr;
}

// Where the file that is open is, as the kernel says. False where it has no name.
bool path_of(int fd, char (&out)[sizeof(AreaWhole::path)]) {
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const long length = syscall(SYS_readlinkat, AT_FDCWD, link, out, sizeof out - 1);
  out[length > 0 ? length : 0] = 0;
  return length > 0 && length < static_cast<long>(sizeof out) - 1 && out[0] == '/';
}

// Notes a part of a file, which is in parts from now on at the latest. Null where that cannot be, and where
// its parts are being brought together just now: then `again`.
AreaPart* enter(Area& area, AreaParts& parts, int fd, const AreaPart& wanted, const char* path, bool& again) {
  struct stat found {};
  const PartLock lock(parts.lock);
  if (syscall(SYS_fstat, fd, &found) != 0 || is_native(parts, found.st_dev, found.st_ino)) {
    return nullptr;
  }
  AreaWhole* whole = whole_of(parts, found.st_dev, found.st_ino);
  int mount = 0;
  if (whole != nullptr && !whole->handle.empty() && handle_of(fd, mount) != whole->handle) {
    whole->removed = 1;  // by somebody else, after the keeper that had it open was killed
    return nullptr;
  }
  // Whoever does it has looked already which parts there are.
  again = whole != nullptr && is_being_gathered(*whole);
  AreaPart* part = again ? nullptr : free_part(parts);
  const bool made = part != nullptr && whole == nullptr && parts.full == 0 && area.over == 0;
  whole = made ? new_whole(parts, fd, found, path) : whole;
  if (part == nullptr || whole == nullptr) {
    return nullptr;
  }
  // Who is told of it has it, whatever becomes of its name. Where nobody is there, nobody would bring it
  // together.
  const auto row = static_cast<std::uint32_t>(whole - parts.wholes.data());
  if (made &&
      !tell_keeper(
          area, {.kind = KeeperMessage::whole, .buffer = row, .generation = whole->generation, .process = 0},
          fd)) {
    whole->state = AreaWhole::unused;
    whole->generation.fetch_add(1);
    parts.live.fetch_sub(1);
    return nullptr;
  }
  part->flags = 0;
  part->count = 0;
  part->logged = 0;
  part->whole = row;
  part->process = wanted.process;
  part->started = wanted.started;
  part->data = wanted.data;
  part->generation.fetch_add(1);
  // Now that it is noted: whoever is killed from here on leaves nothing that nobody knows of.
  if (!make_part(part->data.data(), area.user)) {
    part->generation.fetch_add(1);
    return nullptr;
  }
  return part;
}

// Whether this process has a file open in a way that knows of no parts: under a name that no rule has, before
// it got this one.
bool is_open_natively(AreaParts& parts, int fd, const struct stat& found, pid_t process) {
  const int again = opened_again(fd, found);
  if (again == 0) {
    return false;
  }
  const AreaWhole* whole = whole_of(parts, found.st_dev, found.st_ino);
  const auto own = std::count_if(parts.parts.begin(), parts.parts.end(), [&](const AreaPart& part) {
    return (part.generation & 1) != 0 && whole == &parts.wholes[part.whole] && part.process == process &&
           (part.flags & AreaPart::closed) == 0;
  });
  return again > own;
}

// A part for an open file; null where there can be none.
AreaPart* part_for(const Elsewhere& where, Area& area, AreaParts& parts, int fd) {
  struct stat found {};
  char path[sizeof(AreaWhole::path)];
  AreaPart wanted;
  wanted.process = static_cast<pid_t>(syscall(SYS_getpid));
  // Where nobody else could tell whether this process lives, it has none.
  wanted.started = area.process_space == process_space() ? process_start(wanted.process) : 0;
  if (wanted.started == 0 || static_cast<uid_t>(syscall(SYS_geteuid)) != area.user || has_other_root(area) ||
      syscall(SYS_fstat, fd, &found) != 0 || !S_ISREG(found.st_mode) || found.st_nlink == 0 ||
      is_native(parts, found.st_dev, found.st_ino) || !path_of(fd, path) || is_excepted(where, path) ||
      !name_data(where, path, wanted.data) || is_open_natively(parts, fd, found, wanted.process)) {
    return nullptr;
  }
  bool again = true;
  AreaPart* out = nullptr;
  while (again) {
    again = false;
    out = enter(area, parts, fd, wanted, path, again);
    if (again) {
      const timespec nap{.tv_sec = 0, .tv_nsec = 1000000};
      syscall(SYS_nanosleep, &nap, nullptr);
    }
  }
  return out;
}

// Whether a file has anything behind an offset. Where not, to cut it there changes nothing of it, and nothing
// of what others append before it is together.
bool is_longer(const AreaWhole& whole, int fd, std::uint64_t size) {
  struct stat found {};
  return whole.size > size || syscall(SYS_fstat, fd, &found) != 0 ||
         static_cast<std::uint64_t>(found.st_size) > size;
}

// Opens the file itself, and a part of it for what is written.
std::int64_t open_part(const Elsewhere& where, void** file_state, sluice_activity& activity,
                       const sluice_next* next) {
  const bool cuts = (activity.flags & O_TRUNC) != 0;
  activity.flags &= ~O_TRUNC;
  const std::int64_t opened = next->act(next, &activity);
  if (opened < 0) {
    return opened;
  }
  const auto fd = static_cast<int>(opened);
  AreaParts& parts = *this_parts();
  if (AreaPart* part = part_for(where, *this_area(), parts, fd); part != nullptr) {
    *file_state = pack(parts, *part);
    if (cuts) {
      const PartLock lock(part->lock);
      AreaWhole& whole = parts.wholes[part->whole];
      if (is_longer(whole, fd, 0)) {
        note_piece(parts, *part, 0, Piece::cut);  // the first one: there is room
        whole.size = 0;
      }
      note_change(whole);
    }
    return opened;
  }
  *file_state = reinterpret_cast<void*>(native_file);
  struct stat found {};
  const int error = make_file_native(fd);
  const bool cut = error == 0 && (!cuts || syscall(SYS_fstat, fd, &found) != 0 || !S_ISREG(found.st_mode) ||
                                  syscall(SYS_ftruncate, fd, 0) == 0);
  if (!cut) {
    const int number = error != 0 ? error : errno;
    syscall(SYS_close, fd);
    return fail(activity, number);
  }
  return opened;
}

bool is_moved(const sluice_activity& activity) {
  Area& area = *this_area();
  bool again = false;
  return move_of(area, activity.descriptor, activity.target, again) != nullptr || again;
}

std::int64_t open_file(const Elsewhere& where, void** file_state, sluice_activity& activity,
                       const sluice_next* next) {
  if (activity.target != nullptr && (activity.flags & O_ACCMODE) == O_WRONLY &&
      (activity.flags & not_parted) == 0 && !is_moved(activity)) {
    return open_part(where, file_state, activity, next);
  }
  // Before it is opened, which may cut it, and after, where it was made just now.
  if (const int error = make_native(activity.descriptor, activity.target); error != 0) {
    return fail(activity, error);
  }
  const std::int64_t fd = act_elsewhere(where, file_state, activity, next);
  if (const int error = fd >= 0 ? make_file_native(static_cast<int>(fd)) : 0; error != 0) {
    // The stages below have opened it.
    activity.operation = SLUICE_CLOSE;
    activity.descriptor = static_cast<int>(fd);
    act_elsewhere(where, file_state, activity, next);
    activity.operation = SLUICE_OPEN;
    return fail(activity, error);
  }
  if (fd >= 0) {
    *file_state = *file_state == nullptr ? reinterpret_cast<void*>(native_file) : *file_state;
  }
  return fd;
}

// Of a part, with its lock.
struct Call {
  AreaParts& parts;
  AreaPart& part;
  sluice_activity& activity;

  [[nodiscard]] AreaWhole& whole() const { return parts.wholes[part.whole]; }
  [[nodiscard]] bool note(std::uint64_t offset, std::uint64_t length) const {
    return note_piece(parts, part, offset, length);
  }
  void grow(std::uint64_t end) const {
    std::uint64_t size = whole().size.load();
    while (size < end && !whole().size.compare_exchange_weak(size, end)) {
    }
  }
  // False where it has to be written natively.
  [[nodiscard]] bool write() const {
    const bool here = activity.offset == SLUICE_AT_POSITION;
    const std::int64_t at = here ? syscall(SYS_lseek, activity.descriptor, 0, SEEK_CUR) : activity.offset;
    // A descriptor of its own each time: one that stays could be closed by the program, or become another.
    const auto fd = at < 0 ? -1
                           : static_cast<int>(syscall(SYS_openat, AT_FDCWD, part.data.data(),
                                                      O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
    if (fd < 0) {
      return false;
    }
    const long count = syscall(SYS_pwrite64, fd, activity.data, activity.length, at);
    const int number = errno;
    syscall(SYS_close, fd);
    if (count < 0 && number != ENOSPC && number != EDQUOT && number != EIO && number != EROFS) {
      fail(activity, number);
      return true;
    }
    // Where there is no room for all of it, there may be at home.
    if (count < static_cast<std::int64_t>(activity.length) ||
        (count > 0 && !note(static_cast<std::uint64_t>(at), static_cast<std::uint64_t>(count)))) {
      return false;
    }
    if (count > 0) {
      grow(static_cast<std::uint64_t>(at + count));
      note_change(whole());
    }
    if (here) {
      syscall(SYS_lseek, activity.descriptor, at + count, SEEK_SET);
    }
    done(activity, count);
    return true;
  }
  // Whether the file at home can be as large; where not, the kernel says why.
  [[nodiscard]] bool can_reach(std::uint64_t end) const {
    const auto size = static_cast<off_t>(end);
    const long at = syscall(SYS_lseek, activity.descriptor, 0, SEEK_CUR);
    const bool out = end <= INT64_MAX && end <= this_file_limit() && at >= 0 &&
                     syscall(SYS_lseek, activity.descriptor, size, SEEK_SET) == size;
    if (at >= 0) {
      syscall(SYS_lseek, activity.descriptor, at, SEEK_SET);
    }
    return out;
  }
  [[nodiscard]] bool cut() const {
    const bool cuts = is_longer(whole(), activity.descriptor, activity.length);
    if (!can_reach(activity.length) || !note(activity.length, cuts ? Piece::cut : Piece::grown)) {
      return false;
    }
    if (cuts) {
      whole().size = activity.length;
    } else {
      grow(activity.length);
    }
    note_change(whole());
    done(activity, 0);
    return true;
  }
  [[nodiscard]] bool allocate() const {
    const std::uint64_t end = static_cast<std::uint64_t>(activity.offset) + activity.length;
    struct statfs found {};
    const bool room = syscall(SYS_fstatfs, activity.descriptor, &found) == 0 &&
                      activity.length / static_cast<std::uint64_t>(found.f_bsize) < found.f_bavail;
    if (activity.flags != 0 || activity.offset < 0 || activity.length == 0 || !room || !can_reach(end) ||
        !note(end, Piece::grown)) {
      return false;
    }
    grow(end);
    note_change(whole());
    done(activity, 0);
    return true;
  }
  // The file's end is another than that of what is there.
  [[nodiscard]] bool seek() const {
    const auto size = static_cast<std::int64_t>(whole().size.load());
    if (activity.flags == SEEK_DATA || activity.flags == SEEK_HOLE) {
      if (activity.offset < 0 || activity.offset >= size) {
        fail(activity, ENXIO);
        return true;
      }
    } else if (activity.flags != SEEK_END) {
      return false;
    }
    const std::int64_t to = activity.flags == SEEK_END    ? size + activity.offset
                            : activity.flags == SEEK_DATA ? activity.offset
                                                          : size;
    const long at = syscall(SYS_lseek, activity.descriptor, to, SEEK_SET);
    at < 0 ? fail(activity, errno) : done(activity, at);
    return true;
  }
};

// All of the file is safe, whoever wrote it: the parts of others, too. The file's own name the first time.
std::int64_t sync_file(AreaParts& parts, const Handle& handle, sluice_activity& activity,
                       const sluice_next* next) {
  const std::uint32_t row = handle.part->whole;
  AreaWhole& whole = parts.wholes[row];
  const std::uint32_t generation = whole.generation;
  if (whole.synced == 0) {
    if (next->act(next, &activity) < 0) {
      return -1;
    }
    const PartLock lock(parts.lock);
    if (whole.generation == generation) {
      whole.synced = 1;
    }
  }
  for (AreaPart& part : parts.parts) {
    if ((part.generation & 1) == 0 || part.whole != row) {
      continue;
    }
    const PartLock lock(part.lock);
    const int error = part.whole == row && takes(parts, part) ? write_log(parts, part, true) : 0;
    if (error != 0) {
      return fail(activity, error);
    }
  }
  return whole.generation == generation ? done(activity, 0) : next->act(next, &activity);  // it is one by now
}

// Who opened it lets go of it; whoever shares it goes on until the parts are together.
void close_part(const Handle& handle) {
  AreaPart& part = *handle.part;
  {
    const PartLock lock(part.lock);
    if (part.generation != handle.generation || part.process != static_cast<pid_t>(syscall(SYS_getpid))) {
      return;
    }
    part.flags.fetch_or(AreaPart::closed);
    if ((part.flags & AreaPart::retired) != 0) {
      part.generation.fetch_add(1);
      return;
    }
  }
  Area& area = *this_area();
  if (area.moves_told.exchange(1) == 0) {
    tell_keeper(area, {.kind = KeeperMessage::home, .buffer = 0, .generation = 0, .process = 0}, -1);
  }
}

// The same where the file is native from now on, and so is this one of it.
std::int64_t leave_part(const Handle& handle, void** file_state, sluice_activity& activity,
                        const sluice_next* next) {
  const std::int64_t out = act_natively(file_state, activity, next);
  if (*file_state == reinterpret_cast<void*>(native_file)) {
    close_part(handle);
  }
  return out;
}

bool is_change(std::uint32_t operation) {
  return operation == SLUICE_WRITE || operation == SLUICE_TRUNCATE || operation == SLUICE_ALLOCATE;
}

// Who writes natively without a keeper has not waited for the parts that there are: whoever brings them
// together just now would write them over what comes later.
void wait_for_recovery(const AreaParts& parts, int fd) {
  struct stat found {};
  if (parts.live != 0 && this_area()->over != 0 && syscall(SYS_fstat, fd, &found) == 0) {
    wait_for_gatherer(found.st_dev, found.st_ino);
  }
}

// What a part does by itself. False where the file has to be native.
bool act_part(AreaParts& parts, const Handle& handle, sluice_activity& activity, bool& taken) {
  const PartLock lock(handle.part->lock);
  taken = takes(parts, handle);
  if (!taken) {
    return true;
  }
  const Call call{parts, *handle.part, activity};
  switch (activity.operation) {
    case SLUICE_WRITE:
      return activity.data != nullptr && call.write();
    case SLUICE_TRUNCATE:
      return call.cut();
    case SLUICE_ALLOCATE:
      return call.allocate();
    case SLUICE_SEEK:
      taken = call.seek();
      return true;
    default:
      return false;
  }
}

}  // namespace

std::int64_t act_combined(const Elsewhere& where, void** file_state, sluice_activity& activity,
                          const sluice_next* next) {
  AreaParts* parts = this_parts();
  if (parts == nullptr) {
    return activity.operation == SLUICE_SETTLE || (elsewhere_operations >> activity.operation & 1) == 0
               ? next->act(next, &activity)
               : act_elsewhere(where, file_state, activity, next);
  }
  if (activity.operation == SLUICE_OPEN) {
    return open_file(where, file_state, activity, next);
  }
  const Handle handle = unpack(*parts, *file_state);
  if (handle.part == nullptr) {
    const bool moved = *file_state != nullptr && *file_state != reinterpret_cast<void*>(native_file);
    if (moved && (elsewhere_operations >> activity.operation & 1) != 0) {
      return act_elsewhere(where, file_state, activity, next);
    }
    // By name, or one that the process has not opened itself.
    if (activity.operation == SLUICE_TRUNCATE && activity.descriptor < 0) {
      const int error = make_native(AT_FDCWD, activity.path);
      return error != 0 ? fail(activity, error) : next->act(next, &activity);
    }
    if (*file_state == nullptr && activity.operation == SLUICE_WRITE) {
      return act_natively(file_state, activity, next);
    }
    if (*file_state != nullptr && is_change(activity.operation)) {
      wait_for_recovery(*parts, activity.descriptor);
    }
    return next->act(next, &activity);
  }
  bool taken = false;
  switch (activity.operation) {
    case SLUICE_CLOSE:
      *file_state = nullptr;
      close_part(handle);
      return next->act(next, &activity);
    case SLUICE_SETTLE:
      if ((activity.flags & SLUICE_SETTLE_LEAVE) != 0) {
        close_part(handle);
      } else if ((activity.flags & SLUICE_SETTLE_POSITION) != 0) {
        return leave_part(handle, file_state, activity, next);
      }
      return next->act(next, &activity);
    case SLUICE_SYNC: {
      const PartLock lock(handle.part->lock);
      taken = takes(*parts, handle);
    }
      return taken ? sync_file(*parts, handle, activity, next) : next->act(next, &activity);
    default:
      if (!act_part(*parts, handle, activity, taken)) {
        return leave_part(handle, file_state, activity, next);
      }
      return taken ? activity.result : next->act(next, &activity);
  }
}

}  // namespace sluice

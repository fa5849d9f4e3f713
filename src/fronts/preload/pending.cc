#include "fronts/preload/pending.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "fronts/preload/elsewhere.h"
#include "fronts/preload/file.h"
#include "pipeline/area.h"
#include "pipeline/path_room.h"
#include "pipeline/tell.h"
#include "stages/smallfiles/standin.h"

namespace sluice::preload {
namespace {

constexpr int most_tries = 100;
constexpr int most_waits = 100000;  // for the keeper, a tenth of a millisecond each

// The area where anything is pending; null else.
Area* area_with_pending() {
  Area* area = this_area();
  return area != nullptr && has_pending(*area) ? area : nullptr;
}

// The kernel's own names of descriptors lead to the stand-ins. Others of the kernel's names need nothing put
// down.
bool may_name_descriptor(const char* path) {
  return std::strncmp(path, "/proc/", 6) == 0 ||
         (std::strncmp(path, "/dev/", 5) == 0 && std::strncmp(path, "/dev/shm/", 9) != 0);
}

// Of the path before the slash; `folder` itself where there is none.
bool look_at_folder(int folder, const char* path, const char* slash, struct stat& out) {
  if (slash == nullptr) {
    return syscall(SYS_newfstatat, folder, ".", &out, 0) == 0;
  }
  const std::size_t size = slash == path ? 1 : static_cast<std::size_t>(slash - path);
  const PathRoom room;
  if (!room || size >= PathRoom::size) {
    return false;
  }
  std::memcpy(room.text(), path, size);
  room.text()[size] = 0;
  return syscall(SYS_newfstatat, folder, room.text(), &out, 0) == 0;
}

// Where a path leads, without following a link at its end; false where there is no such folder.
bool take_apart(int folder, const char* path, std::string_view whole, FolderId& in, std::string_view& name) {
  const std::size_t at = whole.rfind('/');
  struct stat found {};
  name = at == std::string_view::npos ? whole : whole.substr(at + 1);
  if (!look_at_folder(folder, path, at == std::string_view::npos ? nullptr : path + at, found)) {
    return false;
  }
  in = {.device = found.st_dev, .inode = found.st_ino};
  return true;
}

bool names_folder(std::string_view path) {
  return path.ends_with('/');
}

std::string_view without_slashes(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') {
    path.remove_suffix(1);
  }
  return path;
}

// The one of that path, with its lock; null where there is none. `above` where it may be one that the path
// takes for a folder.
Pending* find_named(Area& area, int folder, const char* path, bool above = false) {
  for (std::string_view whole = path;;) {
    whole = without_slashes(whole);
    FolderId in;
    std::string_view name;
    const bool found = take_apart(folder, path, whole, in, name);
    if (name.empty()) {
      return nullptr;
    }
    if (found) {
      return find_pending(area, in, name);
    }
    if (!above || name.size() == whole.size() || errno != ENOENT) {
      return nullptr;
    }
    whole.remove_suffix(name.size() + 1);
  }
}

// Another process has it open: the keeper makes it a file, and that process goes on with it. 0, or errno
// where it did not. REQUIRES: its lock, which is given back.
int ask_keeper(Area& area, Pending& file) {
  const FolderId folder{.device = file.device, .inode = file.inode};
  char name[NAME_MAX + 1];
  const std::string_view own = file.own_name();
  std::memcpy(name, own.data(), own.size());
  const std::uint32_t number = number_of(area, file);
  file.asked.store(1);
  let_go(file.lock);
  if (!tell_keeper(area, {.kind = KeeperMessage::lend, .buffer = number, .generation = 0, .process = 0},
                   -1)) {
    return EIO;
  }
  for (int i = 0; i < most_waits && keeper_lives(area) && !has_parted(); ++i) {
    const timespec time{.tv_sec = 0, .tv_nsec = 100000};
    syscall(SYS_nanosleep, &time, nullptr);
    Pending* found = find_pending(area, folder, {name, own.size()});
    if (found == nullptr) {
      return 0;
    }
    const bool same = number_of(area, *found) == number;
    const bool lent = found->state == Pending::lent;  // by the keeper, or by who has it open
    const bool waits = same && found->asked != 0 && !lent;
    const int refused = found->refused;
    let_go(found->lock);
    if (!waits) {
      return lent || !same ? 0 : refused != 0 ? refused : EIO;
    }
  }
  return EIO;
}

// 0, or errno where it cannot be. REQUIRES: its lock, which is given back.
int put_down_one(Area& area, Pending& file) {
  if (file.state == Pending::lent) {
    let_go(file.lock);
    return 0;
  }
  // Who is killed in the middle of it must be known to be dead.
  if (is_stranger()) {
    return ask_keeper(area, file);
  }
  if (!is_left(file)) {
    if (file.process != this_process().id) {
      return ask_keeper(area, file);
    }
    const int fd = file.descriptor;
    let_go(file.lock);
    return settle(fd, SLUICE_SETTLE_RETIRE);
  }
  const int in = open_folder(file);
  int error = in < 0 ? errno : 0;
  if (in >= 0) {
    const PutDown put = put_down(area, file, in);
    real.close(in);
    error = put.error;
    if (error == 0) {
      real.close(put.fd);
      if (put.beside) {
        say_beside(file.path(), put.name.data());
      }
      end_pending(area, file);
    }
  }
  let_go(file.lock);
  return error;
}

// Where links lead that a path names, as far as can be told; `room` is for that.
const char* follow_links(int folder, const char* path, const PathRoom& room) {
  constexpr int most_links = 8;
  const PathRoom other;
  for (int i = 0; i < most_links && room && other; ++i) {
    char* text = other.text();
    const std::string_view whole = path;
    const std::size_t above = whole.rfind('/') + 1;  // 0 where there is none
    const long size =
        above < PathRoom::size ? syscall(SYS_readlinkat, folder, path, text, PathRoom::size - above) : -1;
    if (size <= 0 || static_cast<std::size_t>(size) + above >= PathRoom::size) {
      break;
    }
    const std::size_t kept = text[0] == '/' ? 0 : above;
    std::memmove(room.text(), path, kept);
    std::memcpy(room.text() + kept, text, static_cast<std::size_t>(size));
    room.text()[kept + static_cast<std::size_t>(size)] = 0;
    path = room.text();
  }
  return path;
}

// Whether an open of that could wait for somebody, or lead elsewhere.
bool is_plain_or_absent(int folder, const char* path) {
  struct stat found {};
  return syscall(SYS_newfstatat, folder, path, &found, AT_SYMLINK_NOFOLLOW) != 0 || S_ISREG(found.st_mode);
}

bool is_link(int folder, const char* path) {
  struct stat found {};
  return syscall(SYS_newfstatat, folder, path, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(found.st_mode);
}

}  // namespace

bool may_keep_small() {
  const Area* area = this_area();
  return area != nullptr && area->keeps_small.load(std::memory_order_relaxed) != 0;
}

int put_down_name(int folder, const char* path) {
  Area* area = area_with_pending();
  if (area == nullptr || path == nullptr) [[likely]] {
    return 0;
  }
  const int saved = errno;
  int error = 0;
  if (may_name_descriptor(path)) {
    put_down_all();
    settle_all(SLUICE_SETTLE_SHARE);
    errno = saved;
    return 0;
  }
  bool found = false;
  // Another thread may be about to close it, or just have opened it.
  for (int i = 0; i < most_tries && error == 0; ++i) {
    Pending* file = find_named(*area, folder, path, true);
    if (file == nullptr || file->state == Pending::lent) {
      if (file != nullptr) {
        let_go(file->lock);
      }
      break;
    }
    found = true;
    error = put_down_one(*area, *file);
  }
  if (!found && is_link(folder, path)) {
    put_down_all();  // wherever it leads
  }
  errno = saved;
  return error == ENOENT ? 0 : error;
}

bool describe_name(int folder, const char* path, struct stat& out, bool anyhow) {
  Area* area = area_with_pending();
  Pending* file = area == nullptr || path == nullptr || may_name_descriptor(path) || names_folder(path)
                      ? nullptr
                      : find_named(*area, folder, path);
  if (file == nullptr) {
    return false;
  }
  const bool told = (anyhow || file->invents) && file->state != Pending::lent;
  if (told) {
    describe(*area, *file, out);
  }
  let_go(file->lock);
  return told;
}

namespace {

// Whether all could be.
bool put_down_whole() {
  Area* area = area_with_pending();
  if (area == nullptr) [[likely]] {
    return true;
  }
  bool good = true;
  const int saved = errno;
  const std::uint32_t pass = new_pass(*area);
  for (std::uint32_t bucket = 0; bucket < pending_buckets; ++bucket) {
    if (area->buckets()[bucket].load(std::memory_order_relaxed) == 0) {
      continue;
    }
    while (Pending* file = take_pending(*area, bucket, pass)) {
      good = put_down_one(*area, *file) == 0 && good;
    }
  }
  errno = saved;
  return good;
}

}  // namespace

void put_down_all() {
  put_down_whole();
}

int put_down_all_in(int folder, const char* path) {
  if (put_down_whole()) [[likely]] {
    return 0;
  }
  const int saved = errno;
  struct stat found {};
  bool keeps = false;
  if (path != nullptr && syscall(SYS_newfstatat, folder, path, &found, AT_SYMLINK_NOFOLLOW) == 0) {
    for_each_pending(*this_area(), [&](const Pending& file) {
      keeps =
          keeps || (file.device == found.st_dev && file.inode == found.st_ino && file.state != Pending::lent);
    });
  }
  errno = saved;
  return keeps ? ENOTEMPTY : 0;
}

bool drop_name(int folder, const char* path) {
  Area* area = area_with_pending();
  if (area == nullptr || path == nullptr || names_folder(path)) [[likely]] {
    return false;
  }
  const int saved = errno;
  Pending* file = find_named(*area, folder, path);
  errno = saved;
  if (file == nullptr) {
    return false;
  }
  const bool gone = file->state == Pending::closed && file->begun == 0;
  if (gone) {
    end_pending(*area, *file);
    area->pending_dropped.fetch_add(1, std::memory_order_relaxed);
  }
  let_go(file->lock);
  return gone;
}

NameHold::NameHold(int folder, const char* path, Makes makes) {
  Area* area = this_area();
  if (!may_keep_small() || path == nullptr) {
    return;
  }
  const int saved = errno;
  FolderId in;
  std::string_view name;
  if (may_name_descriptor(path) || !take_apart(folder, path, without_slashes(path), in, name)) {
    put_down_name(folder, path);  // whatever it leads to, or one that the path takes for a folder
    errno = saved;
    return;
  }
  lock_.emplace(*area, in, name);
  if (Pending* file = find_pending(*area, in, name); file != nullptr) {
    const bool kept = file->state != Pending::lent;
    let_go(file->lock);
    error_ = !kept ? 0 : makes == Makes::alone ? EEXIST : put_down_name(folder, path);
  }
  if (makes == Makes::or_opens && !is_plain_or_absent(folder, path)) {
    lock_.reset();  // it is not made, and to open it may take as long as it likes
  }
  errno = saved;
}

NameHold NameHold::for_open(int folder, const char* path, int flags) {
  const bool makes =
      may_keep_small() && path != nullptr && (flags & (O_CREAT | O_PATH | O_DIRECTORY)) == O_CREAT;
  if (!makes || (flags & (O_EXCL | O_NOFOLLOW)) != 0) {
    return {folder, makes ? path : nullptr, makes_alone(flags) ? Makes::alone : Makes::or_opens};
  }
  const int saved = errno;
  const PathRoom room;
  const char* last = follow_links(folder, path, room);
  errno = saved;
  return {folder, last, Makes::or_opens};
}

int open_through(int folder, const char* path, int flags) {
  if ((flags & (O_CREAT | O_EXCL | O_PATH | O_DIRECTORY)) != O_CREAT || !may_come_home(folder, path) ||
      !is_link(folder, path)) {
    errno = ENOENT;
    return -1;
  }
  const int fd = by_name(folder, path, [&] { return real.openat(folder, path, flags & ~O_CREAT); });
  struct stat found {};
  if (fd >= 0 && syscall(SYS_fstat, fd, &found) == 0 && S_ISDIR(found.st_mode)) {
    real.close(fd);
    errno = EISDIR;
    return -1;
  }
  return fd;
}

int open_native(int folder, const char* path, int flags, mode_t mode) {
  const int saved = errno;
  if (const int error = put_down_name(folder, path); error != 0) {
    errno = makes_alone(flags) ? EEXIST : error;
    return -1;
  }
  // A folder may be read by its descriptor, unseen.
  if ((flags & (O_TMPFILE | O_PATH)) == O_DIRECTORY) {
    put_down_all();
  }
  if (const char* data = placed_data(folder, path, flags); data != nullptr) {
    return real.openat(AT_FDCWD, data, flags, mode);
  }
  if (int fd = -1; (flags & O_PATH) != 0 && (flags & O_NOFOLLOW) != 0 &&
                   use_data(folder, path, [&](const FoundMove& found) {
                     errno = saved;
                     fd = real.openat(AT_FDCWD, found.data.data(), flags);
                     const bool still = found.is_still();
                     if (fd >= 0 && !still) {
                       real.close(fd);
                     }
                     return still && (fd >= 0 || errno != ENOENT);
                   })) {
    return fd;
  }
  errno = saved;
  const NameHold hold = NameHold::for_open(folder, path, flags);
  if (hold.refuses()) {
    return -1;
  }
  if (const int fd = open_through(folder, path, flags); fd >= 0 || errno != ENOENT) {
    return fd;
  }
  errno = saved;
  return by_name(folder, path, [&] { return real.openat(folder, path, flags, mode); });
}

}  // namespace sluice::preload

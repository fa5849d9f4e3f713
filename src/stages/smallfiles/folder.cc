#include "stages/smallfiles/folder.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

#include "base/clock.h"
#include "pipeline/entries.h"
#include "pipeline/tell.h"

namespace sluice {
namespace {

constexpr std::memory_order relaxed = std::memory_order_relaxed;
constexpr std::int64_t tick = 20000000;  // nanoseconds in which a file system may not tell two changes apart

// One at a number may be another at any time: it counts where its inode is the same before and after. A path
// stands for what the run's root has there: that is looked at when it is remembered, and whoever has another
// root, and finds the same folder by the same path, may keep files there as well.
struct Known {
  std::atomic<std::uint64_t> inode = 0;
  std::atomic<std::uint64_t> path = 0;  // hash
  std::atomic<std::uint64_t> device = 0;
  std::atomic<std::uint64_t> print = 0;
  std::atomic<std::uint64_t> filesystem = 0;
  std::atomic<std::uint64_t> owners = 0;
  std::atomic<std::uint32_t> mode = 0;
  std::atomic<std::uint32_t> changes =
      0;                                // that there had been of any: another may have got its number since
  std::atomic<std::int64_t> empty = 0;  // it was, since this change time; -1 = it was not
  std::atomic<bool> local = false;      // only this machine changes it
};
std::array<Known, 64> all;

Known& row_of(const FolderPath& path) {
  return all[path.hash % all.size()];
}

bool is(const Known& known, const struct stat& found) {
  return known.inode.load(std::memory_order_acquire) == found.st_ino &&
         known.device.load(relaxed) == found.st_dev;
}

std::uint64_t owners_of(const struct stat& found) {
  return (std::uint64_t{found.st_uid} << 32) | found.st_gid;
}

bool is_local(const Area& area, int mount) {
  for (std::uint32_t i = 0; i < area.mount_count; ++i) {
    if (area.mounts[i].id == mount) {
      return true;
    }
  }
  return false;
}

// Whether there is nothing in it but itself and the one above.
bool is_empty(const char* path, const struct stat& found) {
  const auto fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat opened {};
  const bool out = fd >= 0 && syscall(SYS_fstat, fd, &opened) == 0 && opened.st_ino == found.st_ino &&
                   opened.st_dev == found.st_dev && each_entry(fd, [](const dirent64& entry) {
                     return std::strcmp(entry.d_name, ".") == 0 || std::strcmp(entry.d_name, "..") == 0;
                   });
  if (fd >= 0) {
    syscall(SYS_close, fd);
  }
  return out;
}

}  // namespace

FolderId remembered_folder(const Area& area, const FolderPath& path) {
  const Known& known = row_of(path);
  const std::uint64_t inode = known.inode.load(std::memory_order_acquire);
  const FolderId out{.device = known.device.load(relaxed), .inode = inode};
  const bool good = known.path.load(relaxed) == path.hash &&
                    known.changes.load(relaxed) == area.folder_changes.load() &&
                    known.inode.load(std::memory_order_acquire) == inode;
  return good ? out : FolderId();
}

void forget_folder(const FolderPath& path) {
  row_of(path).inode.store(0);
}

bool is_known(const Area& area, const FolderPath& path, const struct stat& found) {
  const Known& known = row_of(path);
  return is(known, found) && known.path.load(relaxed) == path.hash &&
         known.mode.load(relaxed) == found.st_mode && known.owners.load(relaxed) == owners_of(found) &&
         known.changes.load(relaxed) == area.folder_changes.load(std::memory_order_acquire);
}

bool is_good_folder(const Area& area, const FolderPath& path, const struct stat& found) {
  if (is_known(area, path, found)) {
    return true;
  }
  Known& known = row_of(path);
  const std::uint32_t changes = area.folder_changes.load(std::memory_order_acquire);
  const auto fd =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, path.text, O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat opened {};
  const bool good =
      fd >= 0 && !has_other_root(area) && syscall(SYS_fstat, fd, &opened) == 0 &&
      opened.st_ino == found.st_ino && opened.st_dev == found.st_dev && (found.st_mode & S_ISGID) == 0 &&
      syscall(SYS_faccessat2, fd, ".", W_OK | X_OK, AT_EACCESS) == 0 &&
      syscall(SYS_getxattr, path.text, "system.posix_acl_default", nullptr, 0) < 0 &&
      tell_keeper(area, {.kind = KeeperMessage::folder, .buffer = 0, .generation = 0, .process = 0}, fd);
  if (good) {
    known.inode.store(0);
    known.path.store(path.hash);
    known.device.store(found.st_dev);
    known.owners.store(owners_of(found));
    known.mode.store(found.st_mode);
    known.changes.store(changes);
    known.empty.store(0);
    int mount = -1;
    known.print.store(print_of(handle_of(fd, mount)));
    known.filesystem.store(filesystem_of(fd));
    known.local.store(is_local(area, mount));
    known.inode.store(found.st_ino, std::memory_order_release);
  }
  if (fd >= 0) {
    syscall(SYS_close, fd);
  }
  return good;
}

FolderPrint print_of_folder(const FolderPath& path, const struct stat& found) {
  const Known& known = row_of(path);
  const FolderPrint out{.handle = known.print.load(std::memory_order_acquire),
                        .filesystem = known.filesystem.load(std::memory_order_acquire)};
  return is(known, found) ? out : FolderPrint();
}

bool is_known_empty(const FolderPath& path, const struct stat& found) {
  Known& known = row_of(path);
  const std::int64_t changed = nanoseconds(found.st_ctim);
  std::int64_t empty = known.empty.load(std::memory_order_acquire);
  if (!is(known, found) || !known.local.load(relaxed) || empty < 0) {
    return false;
  }
  if (empty == 0) {
    // What changes in the same moment as this look could not be told from nothing.
    if (nanoseconds_of(CLOCK_REALTIME) - changed < tick) {
      return false;
    }
    empty = is_empty(path.text, found) ? changed : -1;
    struct stat again {};
    if (empty > 0 && (syscall(SYS_newfstatat, AT_FDCWD, path.text, &again, 0) != 0 ||
                      nanoseconds(again.st_ctim) != changed)) {
      return false;
    }
    if (is(known, found)) {
      known.empty.store(empty, std::memory_order_release);
    }
  }
  return empty == changed && is(known, found);
}

}  // namespace sluice

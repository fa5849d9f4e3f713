// How a file that is in memory alone gets to its path (pipeline/pending.h).
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "pipeline/area.h"
#include "pipeline/entries.h"
#include "pipeline/path_room.h"
#include "pipeline/pending.h"
#include "pipeline/tell.h"
#include "pipeline/write_at.h"

// Bare system calls: in a program these are calls of Sluice's, which pass no stage.
namespace sluice {
namespace {

// Whether a file is what somebody who was killed had begun to put down: the beginning of ours.
bool is_begun(Area& area, const Pending& file, int fd) {
  struct stat found {};
  if (syscall(SYS_fstat, fd, &found) != 0 || !S_ISREG(found.st_mode) || found.st_nlink != 1 ||
      static_cast<std::uint64_t>(found.st_size) > file.length) {
    return false;
  }
  // Who was killed just after it was made had no time to note which it is, nor to write.
  if (file.own_inode == 0 ? found.st_size != 0
                          : found.st_ino != file.own_inode || found.st_dev != file.own_device) {
    return false;
  }
  const auto* bytes = area.at<std::byte>(file.data);
  char piece[512];
  for (long at = 0; at < found.st_size;) {
    const long got = syscall(SYS_pread64, fd, piece, sizeof piece, at);
    if (got <= 0 || std::memcmp(piece, bytes + at, static_cast<std::size_t>(got)) != 0) {
      return false;
    }
    at += got;
  }
  return true;
}

// One that may have been made already with the mode that it gets, which may forbid that to its owner.
int open_begun(int folder, const char* name, int flags) {
  const auto named = static_cast<int>(syscall(SYS_openat, folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (named < 0) {
    return -1;
  }
  char self[64];
  std::snprintf(self, sizeof self, "/proc/self/fd/%d", named);
  const auto open = [&] {
    return static_cast<int>(syscall(SYS_openat, AT_FDCWD, self, (flags & ~O_NOFOLLOW) | O_CLOEXEC));
  };
  struct stat found {};
  const bool is_file = syscall(SYS_fstat, named, &found) == 0 && S_ISREG(found.st_mode);
  int out = is_file ? open() : -1;
  if (is_file && out < 0 && errno == EACCES && found.st_uid == static_cast<uid_t>(syscall(SYS_geteuid))) {
    const mode_t mode = found.st_mode & 07777U;
    if (syscall(SYS_fchmodat, AT_FDCWD, self, mode | S_IRUSR | S_IWUSR) == 0) {
      out = open();
      syscall(SYS_fchmodat, AT_FDCWD, self, mode);
    }
  }
  syscall(SYS_close, named);
  return out;
}

// Of that name, where it is the file that is open; somebody may have put another there.
void remove_own(int folder, const char* name, int fd) {
  struct stat own {};
  struct stat there {};
  if (syscall(SYS_fstat, fd, &own) == 0 &&
      syscall(SYS_newfstatat, folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && own.st_ino == there.st_ino &&
      own.st_dev == there.st_dev) {
    syscall(SYS_unlinkat, folder, name, 0);
  }
}

// What a new file is opened with, to be as the program has it.
int make_flags(const Pending& file) {
  return (file.flags & ~O_TRUNC) | O_CREAT | O_EXCL | O_CLOEXEC;
}

int make_file(Area& area, Pending& file, int folder, PutDown& out) {
  // A name is a string only in the path.
  const char* name = file.path() + file.name;
  const bool again = file.begun.exchange(1) != 0;
  int fd = static_cast<int>(syscall(SYS_openat, folder, name, make_flags(file), file.mode));
  if (fd >= 0 || errno != EEXIST) {
    file.begun.store(fd >= 0 || again ? 1 : 0);
    struct stat found {};
    if (fd >= 0 && syscall(SYS_fstat, fd, &found) == 0) {
      file.own_device = found.st_dev;
      file.own_inode = found.st_ino;
    }
    return fd;
  }
  file.begun.store(again ? 1 : 0);
  if (again) {
    const int there = open_begun(folder, name, O_RDONLY | O_NONBLOCK);
    if (there >= 0 && is_begun(area, file, there)) {
      fd = open_begun(folder, name, file.flags & ~(O_CREAT | O_EXCL | O_TRUNC));
    }
    if (there >= 0) {
      syscall(SYS_close, there);
    }
    if (fd >= 0) {
      return fd;
    }
  }
  out.beside = true;
  for (int i = 1; i < 100 && fd < 0; ++i) {
    char number[16] = "";
    if (i > 1) {
      std::snprintf(number, sizeof number, ".%d", i);
    }
    std::snprintf(out.name.data(), out.name.size(), "%.*s.sluice-recovered%s",
                  static_cast<int>(beside_length(name)), name, number);
    fd = static_cast<int>(syscall(SYS_openat, folder, out.name.data(), make_flags(file), file.mode));
    if (fd < 0 && errno != EEXIST) {
      break;
    }
  }
  return fd;
}

// The folder of that name where it is the one that a file was made in; else -1.
int open_if_same(const Pending& file, int in, const char* name, int flags) {
  const auto fd = static_cast<int>(syscall(SYS_openat, in, name, flags | O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (fd >= 0 && !is_folder_of(file, fd)) {
    syscall(SYS_close, fd);
    errno = ENOENT;
    return -1;
  }
  return fd;
}

// The same under whatever name it has in the folder of that path.
int open_renamed(const Pending& file, const char* above) {
  const auto in = static_cast<int>(syscall(SYS_openat, AT_FDCWD, above, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int out = -1;
  // Their numbers do not count: in an overlay they may be others.
  each_entry(in, [&](const dirent64& entry) {
    const bool may_be = entry.d_type == DT_DIR || entry.d_type == DT_UNKNOWN;
    out = may_be ? open_if_same(file, in, entry.d_name, O_NOFOLLOW) : -1;
    return out < 0;
  });
  if (in >= 0) {
    syscall(SYS_close, in);
  }
  return out;
}

}  // namespace

std::size_t beside_length(std::string_view name) {
  constexpr std::size_t most = 220;  // so that the rest fits into 255
  std::size_t out = name.size();
  if (out > most) {
    // Not in the middle of a character, which has four bytes at most.
    for (out = most; out > most - 3 && (static_cast<unsigned char>(name[out]) & 0xC0) == 0x80; --out) {
    }
  }
  return out;
}

PutDown put_down(Area& area, Pending& file, int folder) {
  PutDown out;
  out.fd = make_file(area, file, folder, out);
  if (out.fd < 0) {
    out.error = errno;
    return out;
  }
  // Before it is written, which takes rights away that only its owner may give.
  if ((file.mode & this_umask()) != 0) {
    syscall(SYS_fchmod, out.fd, file.mode);
  }
  out.error = write_at(out.fd, area.at<std::byte>(file.data), file.length, 0);
  if (out.error != 0) {
    remove_own(folder, out.beside ? out.name.data() : file.path() + file.name, out.fd);
    syscall(SYS_close, out.fd);
    file.own_inode = 0;
    file.begun = 0;
    out.fd = -1;
    return out;
  }
  const timespec time{.tv_sec = file.changed / 1000000000, .tv_nsec = file.changed % 1000000000};
  const timespec times[2] = {time, time};
  syscall(SYS_utimensat, out.fd, nullptr, times, 0);
  area.pending_bytes.fetch_add(file.length, std::memory_order_relaxed);
  return out;
}

std::uint64_t print_of(const FileHandle& handle) {
  return handle.empty()
             ? 0
             : path_hash({reinterpret_cast<const char*>(handle.bytes.data()), handle.bytes.size()}) | 1;
}

std::uint64_t filesystem_of(int fd) {
  struct statfs found {};
  std::uint64_t out = 0;
  static_assert(sizeof out == sizeof found.f_fsid);
  if (syscall(SYS_fstatfs, fd, &found) == 0) {
    std::memcpy(&out, &found.f_fsid, sizeof out);
  }
  return out;
}

// A device may have another number when it is mounted again.
bool is_filesystem_of(const Pending& file, int folder) {
  struct stat found {};
  return syscall(SYS_fstat, folder, &found) == 0 &&
         (found.st_dev == file.device || (file.filesystem != 0 && filesystem_of(folder) == file.filesystem));
}

bool is_folder_of(const Pending& file, int folder) {
  struct stat found {};
  int mount = -1;
  return syscall(SYS_fstat, folder, &found) == 0 && found.st_ino == file.inode &&
         is_filesystem_of(file, folder) &&
         (file.folder_print == 0 || print_of(handle_of(folder, mount)) == file.folder_print);
}

int open_folder(const Pending& file) {
  constexpr int most_tries = 3;  // somebody may rename it again and again
  const PathRoom room;
  const std::size_t size = file.name > 1 ? file.name - 1 : 1;  // the root's ends in '/'
  if (!room || size >= PathRoom::size) {
    errno = ENOMEM;
    return -1;
  }
  int fd = -1;
  for (int i = 0; i < most_tries; ++i) {
    std::memcpy(room.text(), file.path(), size);
    room.text()[size] = 0;
    fd = open_if_same(file, AT_FDCWD, room.text(), 0);
    char* slash = std::strrchr(room.text(), '/');
    if (fd >= 0 || (errno != ENOENT && errno != ENOTDIR) || slash == nullptr) {
      return fd;
    }
    slash[slash == room.text() ? 1 : 0] = 0;
    fd = open_renamed(file, room.text());
    if (fd >= 0) {
      return fd;
    }
  }
  errno = ENOENT;
  return -1;
}

}  // namespace sluice

#include "stages/smallfiles/standin.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "pipeline/entries.h"
#include "pipeline/line.h"
#include "pipeline/tell.h"

namespace sluice {
namespace {

constexpr int patience = 5000;  // milliseconds until the keeper answers
constexpr rlim_t highest = 1000;

// What all stand-ins are duplicates of: an empty file of memory that is sealed. Its number is high, out of
// the program's way; whoever closes it all the same is found out by what it is.
struct Standin {
  std::atomic<int> fd = -1;
  std::atomic<std::uint64_t> inode = 0;
  std::atomic<std::uint64_t> device = 0;
};
constinit Standin standin;

bool make_standin() {
  const auto low =
      static_cast<int>(syscall(SYS_memfd_create, "sluice-stand-in", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (low < 0) {
    return false;
  }
  rlimit limit{};
  syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit);
  const rlim_t from = limit.rlim_cur > 64 ? std::min(limit.rlim_cur - 24, highest) : 3;
  const auto fd = static_cast<int>(syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, static_cast<int>(from)));
  struct stat found {};
  const bool good = fd >= 0 && syscall(SYS_fstat, fd, &found) == 0 &&
                    syscall(SYS_fcntl, fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0;
  syscall(SYS_close, low);
  if (good) {
    standin.inode.store(found.st_ino);
    standin.device.store(found.st_dev);
    standin.fd.store(fd);
  }
  return good;
}

// What is at that path, as the program had it open, where it is the file.
int open_own(const Pending& file, int folder, const char* path) {
  const int flags = (file.flags & ~(O_CREAT | O_TRUNC)) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const auto fd = static_cast<int>(syscall(SYS_openat, folder, path, flags));
  struct stat found {};
  if (fd < 0) {
    return -1;
  }
  if (syscall(SYS_fstat, fd, &found) == 0 && found.st_ino == file.own_inode &&
      found.st_dev == file.own_device) {
    if ((file.flags & O_NONBLOCK) == 0) {
      syscall(SYS_fcntl, fd, F_SETFL, file.flags & ~(O_CREAT | O_TRUNC));
    }
    return fd;
  }
  syscall(SYS_close, fd);
  return -1;
}

// Under another name in its folder.
int open_renamed(const Pending& file) {
  const int folder = open_folder(file);
  const auto list =
      folder < 0 ? -1
                 : static_cast<int>(syscall(SYS_openat, folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int out = -1;
  each_entry(list, [&](const dirent64& entry) {
    out = entry.d_ino == file.own_inode ? open_own(file, folder, entry.d_name) : -1;
    return out < 0;
  });
  for (const int fd : {folder, list}) {
    if (fd >= 0) {
      syscall(SYS_close, fd);
    }
  }
  return out;
}

}  // namespace

bool is_standin(const struct stat& found) {
  return found.st_ino == standin.inode.load() && found.st_dev == standin.device.load();
}

int take_standin(bool close_on_exec) {
  for (int i = 0; i < 2; ++i) {
    const int from = standin.fd.load();
    const auto fd =
        from < 0 ? -1
                 : static_cast<int>(syscall(SYS_fcntl, from, close_on_exec ? F_DUPFD_CLOEXEC : F_DUPFD, 0));
    struct stat found {};
    if (fd >= 3 && syscall(SYS_fstat, fd, &found) == 0 && is_standin(found)) {
      return fd;
    }
    if (fd >= 0) {
      syscall(SYS_close, fd);
    }
    if (fd >= 0 && fd < 3) {
      return -1;  // what goes by the names of the standard ones is written unseen
    }
    if (!make_standin()) {
      return -1;
    }
  }
  return -1;
}

int fetch_lent(const Area& area, Pending& file) {
  const Unsignalled whole;  // a child that a handler forks would wait for the same answer
  int ends[2] = {-1, -1};
  if (syscall(SYS_socketpair, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return -1;
  }
  int out = -1;
  if (tell_keeper(area,
                  {.kind = KeeperMessage::fetch,
                   .buffer = number_of(const_cast<Area&>(area), file),
                   .generation = 0,
                   .process = this_process().id},
                  ends[1])) {
    pollfd one{.fd = ends[0], .events = POLLIN, .revents = 0};
    const timespec limit{.tv_sec = patience / 1000, .tv_nsec = 0};
    char byte = 0;
    iovec part{.iov_base = &byte, .iov_len = 1};
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = space;
    header.msg_controllen = sizeof space;
    if (syscall(SYS_ppoll, &one, 1, &limit, nullptr, 0) == 1 &&
        syscall(SYS_recvmsg, ends[0], &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) > 0) {
      const cmsghdr* with = CMSG_FIRSTHDR(&header);
      if (with != nullptr && with->cmsg_type == SCM_RIGHTS) {
        std::memcpy(&out, CMSG_DATA(with), sizeof out);
      }
    }
  }
  syscall(SYS_close, ends[0]);
  syscall(SYS_close, ends[1]);
  if (out >= 0) {
    return out;
  }
  // The run is over: it is at its path, or somebody has renamed it.
  out = open_own(file, AT_FDCWD, file.path());
  if (out < 0) {
    out = open_renamed(file);
  }
  errno = out < 0 ? EIO : errno;
  return out;
}

void say_beside(const char* path, const char* name) {
  Line line;
  line.add("somebody else has made ").quote(path);
  line.add(" meanwhile; the program's is beside it as ").quote(name).say();
}

}  // namespace sluice

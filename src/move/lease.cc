#include "move/lease.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"

namespace sluice {
namespace {

sigset_t lease_signals() {
  sigset_t out;
  sigemptyset(&out);
  sigaddset(&out, SIGRTMIN);
  sigaddset(&out, SIGIO);  // where there were too many of the others
  return out;
}

// Network file systems refuse a lease in the same words where their server has not delegated the file to us:
// that says nothing of who has it open.
bool is_of_a_server(int fd) {
  struct statfs about {};
  if (fstatfs(fd, &about) != 0) {
    return false;
  }
  switch (static_cast<unsigned long>(about.f_type) & 0xffffffffUL) {
    case NFS_SUPER_MAGIC:
    case 0xff534d42UL:  // CIFS
    case 0xfe534d42UL:  // SMB2
      return true;
    default:
      return false;
  }
}

// Another thread of ours forks to see whether a path answers; for a moment that child has all that we have.
bool is_fork_of_ours(const std::string& process) {
  struct stat self {};
  struct stat other {};
  const auto about = read_file(process + "/status");
  return about && about->find(fmt::format("\nPPid:\t{}\n", getpid())) != std::string::npos &&
         stat("/proc/self/exe", &self) == 0 && stat((process + "/exe").c_str(), &other) == 0 &&
         identity_of(self) == identity_of(other);
}

// By the lines of /proc/PID/maps: "7f0000000000-7f0000001000 rw-s 00000000 fe:00 1234 /path".
bool maps_one(const std::string& process, const std::vector<Identity>& all) {
  const auto table = read_file(process + "/maps");
  const auto lines = table ? split(*table, '\n') : std::vector<std::string_view>();
  return std::any_of(lines.begin(), lines.end(), [&](std::string_view line) {
    constexpr std::size_t device = 3;
    const auto words = split_blanks(line);
    unsigned major = 0;
    unsigned minor = 0;
    if (words.size() < device + 2 ||
        std::sscanf(std::string(words[device]).c_str(), "%x:%x", &major, &minor) != 2) {
      return false;
    }
    const auto inode = parse_count(words[device + 1]);
    return inode && std::binary_search(all.begin(), all.end(),
                                       Identity{.device = makedev(major, minor), .inode = *inode});
  });
}

}  // namespace

LeaseSignals::LeaseSignals() {
  const sigset_t all = lease_signals();
  pthread_sigmask(SIG_BLOCK, &all, &before_);
}

bool LeaseSignals::told() {
  const sigset_t all = lease_signals();
  const timespec now{};
  bool out = false;
  while (sigtimedwait(&all, nullptr, &now) > 0) {
    out = true;
  }
  return out;
}

LeaseSignals::~LeaseSignals() {
  (void)told();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

Lease::Lease(int fd, Against against) : fd_(fd) {
  f_owner_ex self{.type = F_OWNER_TID, .pid = gettid()};
  if (fcntl(fd, F_SETOWN_EX, &self) != 0 || fcntl(fd, F_SETSIG, SIGRTMIN) != 0) {
    return;
  }
  // A lease for writing can be had only by the one user of a file. It is not kept: readers would wait for it.
  const bool alone = against == Against::writers || fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
  held_ = alone && fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
  busy_ = !held_ && errno == EAGAIN && !is_of_a_server(fd);
}

bool Lease::undisturbed() const {
  return !held_ || fcntl(fd_, F_GETLEASE) != F_UNLCK;
}

bool Lease::alone() const {
  return !held_ || (fcntl(fd_, F_SETLEASE, F_WRLCK) == 0 && fcntl(fd_, F_SETLEASE, F_RDLCK) == 0);
}

Identity identity_of(const struct stat& about) {
  return {.device = about.st_dev, .inode = about.st_ino};
}

Users look_for_users(const std::vector<Identity>& all, bool mapped) {
  Users out;
  const auto is_one = [&](const std::string& link) {
    struct stat found {};
    return stat(link.c_str(), &found) == 0 && std::binary_search(all.begin(), all.end(), identity_of(found));
  };
  const auto processes = list_folder("/proc");
  for (const std::string& process : processes ? *processes : std::vector<std::string>()) {
    const auto id = parse_count(process);
    if (!id || static_cast<pid_t>(*id) == getpid()) {
      continue;
    }
    const std::string folder = fmt::format("/proc/{}", process);
    char ignored = 0;
    out.hidden = out.hidden || (readlink((folder + "/cwd").c_str(), &ignored, 1) < 0 &&
                                (errno == EACCES || errno == EPERM));
    bool uses = is_one(folder + "/cwd") || is_one(folder + "/exe") || is_one(folder + "/root");
    const auto open = uses ? Result<std::vector<std::string>>() : list_folder(folder + "/fd");
    for (const std::string& fd : open ? *open : std::vector<std::string>()) {
      uses = uses || is_one(fmt::format("{}/fd/{}", folder, fd));
    }
    uses = uses || (mapped && maps_one(folder, all));
    if (uses && !is_fork_of_ours(folder)) {
      const auto name = read_file(folder + "/comm");
      out.known.push_back(fmt::format("{} ({})", process, escape(trim(name ? *name : "?"))));
    }
  }
  return out;
}

std::vector<std::string> users_of(const std::vector<Identity>& all, bool mapped) {
  return look_for_users(all, mapped).known;
}

bool writes_itself(const Identity& file) {
  const auto open = list_folder("/proc/self/fd");
  const auto all = open ? *open : std::vector<std::string>();
  return std::any_of(all.begin(), all.end(), [&](const std::string& name) {
    const auto number = parse_count(name);
    const int fd = number ? static_cast<int>(*number) : -1;
    struct stat found {};
    return fd >= 0 && fstat(fd, &found) == 0 && identity_of(found) == file &&
           (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
  });
}

}  // namespace sluice

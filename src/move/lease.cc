#include "move/lease.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"

namespace sluice {

LeaseSignals::LeaseSignals() {
  sigemptyset(&told_);
  sigaddset(&told_, SIGRTMIN);
  sigaddset(&told_, SIGIO);  // where there were too many of the others
  pthread_sigmask(SIG_BLOCK, &told_, &before_);
}

LeaseSignals::~LeaseSignals() {
  const timespec now{};
  while (sigtimedwait(&told_, nullptr, &now) > 0) {
  }
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
  busy_ = !held_ && errno == EAGAIN;
}

bool Lease::undisturbed() const {
  return !held_ || fcntl(fd_, F_GETLEASE) == F_RDLCK;
}

Identity identity_of(const struct stat& about) {
  return {.device = about.st_dev, .inode = about.st_ino};
}

std::vector<std::string> users_of(const std::vector<Identity>& all) {
  std::vector<std::string> out;
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
    bool uses = is_one(folder + "/cwd") || is_one(folder + "/exe") || is_one(folder + "/root");
    const auto open = uses ? Result<std::vector<std::string>>() : list_folder(folder + "/fd");
    for (const std::string& fd : open ? *open : std::vector<std::string>()) {
      uses = uses || is_one(fmt::format("{}/fd/{}", folder, fd));
    }
    if (uses) {
      const auto name = read_file(folder + "/comm");
      out.push_back(fmt::format("{} ({})", process, escape(trim(name ? *name : "?"))));
    }
  }
  return out;
}

}  // namespace sluice

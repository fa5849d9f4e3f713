#include "base/reach.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/sys.h"

namespace sluice {
namespace {

using Device = std::pair<std::uint32_t, std::uint32_t>;

std::optional<Device> device_of(int fd) {
  struct statx found {};
  return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &found) == 0
             ? std::optional(Device(found.stx_dev_major, found.stx_dev_minor))
             : std::nullopt;
}

// Opens nothing and asks nobody: what the kernel does not remember of the path is EAGAIN.
UniqueFd find_remembered(const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_CACHED | RESOLVE_NO_SYMLINKS;
  return UniqueFd(static_cast<int>(syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
}

// Whether a path surely is on the file system of "/", or would be.
bool is_on_root(std::string path) {
  if (!path.starts_with('/')) {
    return false;
  }
  const UniqueFd root = find_remembered("/");
  UniqueFd found = find_remembered(path);
  while (!found && errno == ENOENT && path.size() > 1) {
    path = folder_of(path);
    found = find_remembered(path);
  }
  return root && found && device_of(root.get()) && device_of(root.get()) == device_of(found.get());
}

}  // namespace

bool answers(const std::string& path, Duration time) {
  if (is_on_root(path)) {
    return true;
  }
  const pid_t child = fork();
  if (child < 0) {
    return true;  // no process to be had: the caller finds out by itself
  }
  if (child == 0) {
    // Only what is safe after a fork of a threaded program. A child that gets stuck must hold nothing.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    syscall(SYS_close_range, 0U, ~0U, 0U);
    struct stat about {};
    sys().stat(path.c_str(), &about);
    _exit(0);
  }
  const UniqueFd handle(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  pollfd wait{.fd = handle.get(), .events = POLLIN, .revents = 0};
  const bool ended = !handle || poll(&wait, 1, time.in_milliseconds()) != 0;
  if (!ended) {
    kill(child, SIGKILL);
    // It may stay in the kernel until the mount answers; nobody waits for that longer than this.
    poll(&wait, 1, 50);
  }
  waitpid(child, nullptr, ended ? 0 : WNOHANG);
  return ended;
}

}  // namespace sluice

#include "lab/net_space.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "base/files.h"
#include "base/step.h"
#include "base/text.h"

namespace sluice::lab {
namespace {

constexpr const char* names_folder = "/run/netns";

std::string link_of(const std::string& host) {
  return std::string(names_folder) + "/" + host;
}

std::string mount_of(const Member& net, const std::string& host) {
  return net.file("ns/" + host);
}

Status make_folder(const std::string& path, mode_t mode) {
  if (sys().mkdir(path.c_str(), mode) != 0 && errno != EEXIST) {
    return Errno().fail(fmt::format("cannot create {}", quote(path)));
  }
  return {};
}

Status loopback_up() {
  const UniqueFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP;
  if (!fd || sys().ioctl(fd.get(), SIOCSIFFLAGS, &request) != 0) {
    return Errno().fail("cannot switch the loopback on");
  }
  return {};
}

// A new namespace, mounted on the file.
Status mount_new(const std::string& path) {
  const UniqueFd before(sys().open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC, 0));
  if (!before) {
    return Errno().fail("cannot open /proc/self/ns/net");
  }
  if (unshare(CLONE_NEWNET) != 0) {
    return Errno()
        .fail("cannot make a network namespace")
        .advise("it needs the capabilities CAP_SYS_ADMIN and CAP_NET_ADMIN");
  }
  Status out = loopback_up();
  if (out && mount("/proc/self/ns/net", path.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    out = Errno().fail(fmt::format("cannot mount a network namespace on {}", quote(path)));
  }
  if (setns(before.get(), CLONE_NEWNET) != 0) {
    return Errno().fail("cannot go back to the network namespace of this machine");
  }
  return out;
}

}  // namespace

bool has_namespace(const std::string& host) {
  struct stat found {};
  return lstat(link_of(host).c_str(), &found) == 0;
}

Status make_namespace(const Member& net, const std::string& host) {
  SLUICE_CHECK(make_folder(names_folder, 0755));
  SLUICE_CHECK(make_folder(net.file("ns"), 0700));
  const std::string path = mount_of(net, host);
  const UniqueFd file(sys().open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0));
  if (!file) {
    return Errno().fail(fmt::format("cannot create {}", quote(path)));
  }
  step("file of a namespace made");
  SLUICE_CHECK(mount_new(path));
  step("namespace mounted");
  if (symlink(path.c_str(), link_of(host).c_str()) != 0) {
    return Errno().fail(fmt::format("cannot create {}", quote(link_of(host))));
  }
  step("namespace named");
  return {};
}

Status remove_namespace(const Member& net, const std::string& host) {
  const std::string path = mount_of(net, host);
  const std::string link = link_of(host);
  if (const auto target = read_link(link); target && *target == path && unlink(link.c_str()) != 0) {
    return Errno().fail(fmt::format("cannot remove {}", quote(link)));
  }
  // Not mounted, or not there: as it should be. Once for each time that it is mounted.
  while (umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) {
  }
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return Errno().fail(fmt::format("cannot remove {}", quote(path)));
  }
  return {};
}

}  // namespace sluice::lab

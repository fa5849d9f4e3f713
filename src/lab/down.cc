#include "lab/down.h"

#include <fmt/format.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/files.h"
#include "base/mountinfo.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "lab/control.h"
#include "lab/loop.h"
#include "lab/net.h"
#include "lab/serve.h"

namespace sluice::lab {
namespace {

constexpr Duration unmount_patience(20, 0);

// No fault and no model may stand in the way. A server that does not answer is killed later.
void hurry(const std::vector<Member>& devices) {
  for (const Member& device : devices) {
    for (const std::string_view command : {"clear", "revive", "set preset=none"}) {
      if (!ask(device, command, Duration(2, 0))) {
        break;
      }
    }
  }
}

// Mounts of those loop devices wherever they are, and what is mounted below the folder; the last mounted
// first.
std::vector<std::string> mounts_of(const std::vector<std::string>& loops, const std::string& below) {
  std::vector<std::string> out;
  const auto text = read_file("/proc/self/mountinfo");
  const MountInfo info = parse_mountinfo(text ? *text : std::string{});
  for (const Mount& mount : info.mounts) {
    const bool ours = std::find(loops.begin(), loops.end(), mount.source) != loops.end();
    const bool inside = mount.point.starts_with(below + "/");
    if (ours || inside) {
      out.push_back(mount.point);
    }
  }
  std::reverse(out.begin(), out.end());
  return out;
}

// True when it is gone, false when somebody still uses it.
Result<bool> unmount(const std::string& point) {
  if (run_tool({"umount", "--", point}, unmount_patience)) {
    return true;
  }
  if (umount2(point.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0 && errno != EINVAL && errno != ENOENT) {
    return Errno().fail(fmt::format("cannot unmount {}", quote(point)));
  }
  return false;
}

// Detaching is done behind our back once the last user is gone.
void await_detached(const std::string& folder) {
  for (int i = 0; i < 250 && !loops_below(folder).empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Status remove_folder(const std::string& path) {
  if (rmdir(path.c_str()) != 0 && errno != ENOENT) {
    return Errno()
        .fail(fmt::format("cannot remove {}", quote(path)))
        .advise("it holds what the lab did not make; move that away and run `sluice lab down` again");
  }
  return {};
}

Status remove_lab_files(const std::string& lab) {
  const std::string mnt = lab + "/mnt";
  auto names = list_folder(mnt);
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    SLUICE_CHECK(remove_folder(mnt + "/" + name));
  }
  SLUICE_CHECK(remove_folder(mnt));
  names = list_folder(lab);
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    // Files that were being written when somebody was killed begin with .sluice-
    if (name == "sluice.toml" || name == "lock" || name.starts_with(".sluice-")) {
      sys().unlink((lab + "/" + name).c_str());
    }
  }
  return remove_folder(lab);
}

}  // namespace

Result<Json> take_down(const std::string& lab, const std::string& only) {
  std::vector<Member> all = members(lab);
  if (!only.empty()) {
    SLUICE_TRY(const Member member, find_member(lab, only));
    all = {member};
  }
  std::vector<Member> devices;
  std::copy_if(all.begin(), all.end(), std::back_inserter(devices),
               [](const Member& member) { return member.kind() == "device"; });
  hurry(devices);

  const std::string folder = only.empty() ? lab : all.front().path();
  const std::vector<std::string> loops = loops_below(folder);
  Json mounts = Json::array();
  Json busy = Json::array();
  for (const std::string& point : mounts_of(loops, folder + "/mnt")) {
    SLUICE_TRY(const bool gone, unmount(point));
    mounts.push_back(escape(point));
    if (!gone) {
      busy.push_back(escape(point));
    }
  }
  for (const std::string& loop : loops) {
    // One that detaches itself may be gone already.
    [[maybe_unused]] const Status status = detach_loop(loop, folder);
  }
  if (busy.empty()) {
    await_detached(folder);
  }
  Json names = Json::array();
  for (const Member& member : all) {
    SLUICE_CHECK(member.kind() == "net" ? remove_net(member) : remove_device(member));
    names.push_back(member.name());
  }
  if (!loops.empty() && !find_tool("btrfs").empty()) {
    // The kernel remembers the members of a btrfs by name; the names will soon be others'.
    [[maybe_unused]] const auto forgotten = run_tool({"btrfs", "device", "scan", "--forget"});
  }
  if (only.empty()) {
    SLUICE_CHECK(remove_lab_files(lab));
  }
  return Json{{"members", names}, {"mounts", mounts}, {"loops", loops}, {"busy", busy}};
}

}  // namespace sluice::lab

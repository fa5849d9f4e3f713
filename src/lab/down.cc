#include "lab/down.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/files.h"
#include "base/json.h"
#include "base/mountinfo.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "lab/net.h"
#include "lab/serve.h"
#include "lab/service.h"

namespace sluice::lab {
namespace {

constexpr Duration unmount_patience(20, 0);

// No fault, no model and no stopped process may stand in the way. A server that does not answer is killed
// later.
void hurry(const std::vector<Member>& devices) {
  for (const Member& device : devices) {
    if (const int pid = device.server(); pid > 0) {
      kill(pid, SIGCONT);
    }
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

// True when it is gone, false when it was only taken out of the tree, because somebody uses it or because it
// does not answer.
Result<bool> unmount(const std::string& point) {
  if (run_tool({"umount", {"--", point}}, unmount_patience)) {
    return true;
  }
  if (umount2(point.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0 && errno != EINVAL && errno != ENOENT) {
    return Errno().fail(fmt::format("cannot unmount {}", quote(point)));
  }
  return false;
}

// Detaching is done behind our back once the last user is gone; those that still have one after a while.
std::vector<std::string> still_attached(const std::string& folder) {
  std::vector<std::string> out = loops_below(folder);
  for (int i = 0; i < 250 && !out.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    out = loops_below(folder);
  }
  return out;
}

Status remove_folder(const std::string& path) {
  if (rmdir(path.c_str()) != 0 && errno != ENOENT) {
    return Errno()
        .fail(fmt::format("cannot remove {}", quote(path)))
        .advise("it holds what the lab did not make; move that away and run `sluice lab down` again");
  }
  return {};
}

Status remove_points(const std::string& lab) {
  const std::string mnt = lab + "/mnt";
  const auto names = list_folder(mnt);
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    SLUICE_CHECK(remove_folder(mnt + "/" + name));
  }
  return remove_folder(mnt);
}

// The lock last: without it the folder is no lab.
Status remove_lab_files(const std::string& lab) {
  SLUICE_TRY(const auto names, list_folder(lab));
  for (const std::string& name : names) {
    if (name == "sluice.toml" || name.starts_with(unfinished)) {
      sys().unlink((lab + "/" + name).c_str());
    } else if (name != "lock") {
      return fail(fmt::format("{} holds what the lab did not make: {}", quote(lab), quote(name)),
                  "move that away and run `sluice lab down` again");
    }
  }
  sys().unlink((lab + "/lock").c_str());
  return remove_folder(lab);
}

}  // namespace

Result<Json> take_down(const std::string& lab, const std::string& only) {
  std::vector<Member> all = members(lab);
  if (!only.empty()) {
    SLUICE_TRY(const Member member, find_member(lab, only));
    if (const auto place = read_file(member.file("place"), 256)) {
      return bad_input(
          fmt::format("{} is part of the place {} of `sluice lab up`", quote(only), quote(*place)),
          "`sluice lab down` without a name removes all of them");
    }
    all = {member};
  }
  std::vector<Member> devices;
  std::copy_if(all.begin(), all.end(), std::back_inserter(devices),
               [](const Member& member) { return member.kind() == "device"; });
  hurry(devices);

  // What goes wrong with one must not keep the others: the first error is told at the end.
  Status status;
  const auto note = [&](Status done) {
    if (!done && status) {
      status = std::move(done);
    }
  };
  const std::string folder = only.empty() ? lab : all.front().path();
  const std::vector<std::string> loops = loops_below(folder);
  Json mounts = Json::array();
  Json busy = Json::array();
  for (const std::string& point : mounts_of(loops, folder + "/mnt")) {
    const Result<bool> gone = unmount(point);
    note(gone ? Status{} : Status(gone.error()));
    mounts.push_back(escape(point));
    if (gone && !*gone) {
      busy.push_back(escape(point));
    }
  }
  if (only.empty()) {
    note(remove_points(lab));  // which ends copies of the mounts in other namespaces, too
  }
  for (const std::string& loop : loops) {
    // The kernel remembers the members of a btrfs by name; the name will soon be another's.
    if (!find_tool("btrfs").empty()) {
      [[maybe_unused]] const auto forgotten = run_tool({"btrfs", {"device", "scan", "--forget", loop}});
    }
    note(detach_loop(loop, folder));
  }
  if (busy.empty()) {
    for (const std::string& loop : still_attached(folder)) {
      busy.push_back(loop);
    }
  }
  Json names = Json::array();
  for (const Member& member : all) {
    note(member.kind() == "net" ? remove_net(member) : remove_device(member));
    names.push_back(member.name());
  }
  if (only.empty() && status) {
    note(remove_lab_files(lab));
  }
  SLUICE_CHECK(std::move(status));
  return Json{{"members", names}, {"mounts", mounts}, {"loops", loops}, {"busy", busy}};
}

}  // namespace sluice::lab

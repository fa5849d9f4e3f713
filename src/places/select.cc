#include "places/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/text.h"
#include "places/filesystems.h"

namespace sluice {
namespace {

// Folders that the system or a container engine keeps for itself.
constexpr std::array<std::string_view, 19> system_areas = {"/proc",
                                                           "/sys",
                                                           "/dev",
                                                           "/run",
                                                           "/var/run",
                                                           "/boot",
                                                           "/efi",
                                                           "/snap",
                                                           "/var/snap",
                                                           "/var/lib/snapd",
                                                           "/var/lib/docker",
                                                           "/var/lib/containers",
                                                           "/var/lib/containerd",
                                                           "/var/lib/kubelet",
                                                           "/var/lib/lxcfs",
                                                           "/var/lib/lxd",
                                                           "/var/lib/rancher",
                                                           "/var/lib/nfs/rpc_pipefs",
                                                           "/var/lib/flatpak"};

bool is_exempt(std::string_view point, std::uint64_t user) {
  return point == "/dev/shm" || lies_in(point, "/run/media") || point == fmt::format("/run/user/{}", user);
}

// The file system as a whole: two mounts with the same key show parts of the same one.
std::uint64_t number_of(const Mount& mount) {
  return (static_cast<std::uint64_t>(mount.major) << 32) | mount.minor;
}

}  // namespace

std::string reason_to_skip(const Mount& mount, const Mounts& mounts, std::uint64_t user, bool wanted) {
  const FsFacts facts = filesystem_facts(mount.type, mount.major != 0);
  if (facts.kind == FsClass::pseudo) {
    return fmt::format("{} holds no data", escape(mount.type));
  }
  if (facts.kind == FsClass::automount) {
    return "automount point, not touched";
  }
  if (facts.kind == FsClass::image) {
    return fmt::format("{} is a read-only image", escape(mount.type));
  }
  if (mounts.hidden(mount)) {
    return "hidden by a later mount";
  }
  if (!wanted && !is_exempt(mount.point, user)) {
    for (const std::string_view area : system_areas) {
      if (lies_in(mount.point, area)) {
        return fmt::format("belongs to the system ({})", area);
      }
    }
  }
  return {};
}

void judge_answers(std::vector<MountCandidate>& candidates) {
  std::map<std::uint64_t, std::vector<MountCandidate*>> groups;
  for (MountCandidate& one : candidates) {
    const FsFacts facts = filesystem_facts(one.mount->type, one.mount->major != 0);
    const bool reached = one.answer.reach == Reach::reachable;
    if (!one.answer.is_folder) {
      one.because = "a file is mounted here, not a folder";
    } else if (!one.wanted && reached && one.answer.blocks == 0 &&
               (facts.kind == FsClass::unknown || (facts.kind == FsClass::network && !facts.listed))) {
      one.because = "reports no capacity";
    } else if (reached) {
      groups[number_of(*one.mount)].push_back(&one);
    }
  }
  for (auto& [number, group] : groups) {
    // Best first: writable, then the largest part of the file system, then the shortest path.
    std::stable_sort(group.begin(), group.end(), [](const MountCandidate* a, const MountCandidate* b) {
      const auto key = [](const MountCandidate* one) {
        return std::tuple(one->answer.read_only || one->mount->read_only(), one->mount->root.size(),
                          one->mount->point.size());
      };
      return key(a) < key(b);
    });
    std::unordered_map<std::string_view, const MountCandidate*>
        kept;  // by the part of the file system they show
    for (MountCandidate* one : group) {
      const MountCandidate* same = nullptr;
      for (std::string_view part = one->mount->root; same == nullptr; part = above(part)) {
        if (const auto found = kept.find(part); found != kept.end()) {
          same = found->second;
        }
        if (part == "/" || part.empty() || part[0] != '/') {
          break;
        }
      }
      if (same != nullptr && !one->wanted) {
        one->because = fmt::format("the same file system as {}", quote(same->mount->point));
      } else {
        kept.emplace(one->mount->root, one);
      }
    }
  }
}

}  // namespace sluice

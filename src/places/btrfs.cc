#include "places/btrfs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sluice {
namespace {

// Weakest first: while a file system is being converted it has chunks of two profiles.
constexpr std::array<std::string_view, 9> profiles = {"raid0", "single",  "dup",   "raid5",  "raid10",
                                                      "raid1", "raid1c3", "raid6", "raid1c4"};

std::string_view data_profile(const Machine& machine, const std::string& folder) {
  const std::vector<std::string> names = machine.list(folder + "/allocation/data");
  for (const std::string_view profile : profiles) {
    if (std::find(names.begin(), names.end(), profile) != names.end()) {
      return profile;
    }
  }
  return {};
}

}  // namespace

std::string btrfs_uuid(const Machine& machine, std::string_view source) {
  const std::string_view name = source.substr(source.rfind('/') + 1);
  for (const std::string& uuid : machine.list("/sys/fs/btrfs")) {
    const std::vector<std::string> devices = machine.list("/sys/fs/btrfs/" + uuid + "/devices");
    if (std::find(devices.begin(), devices.end(), name) != devices.end()) {
      return uuid;
    }
  }
  return {};
}

std::optional<Layout> btrfs_layout(std::string_view profile, unsigned devices) {
  // Copies go to any two (three, four) of the devices: more devices do not make more copies, but more that
  // fail.
  const auto copies = [&](unsigned count) {
    return devices <= count ? Layout{.scheme = Scheme::raid1, .disks = count, .parity = 0, .members = {}}
                            : copies_layout(count, devices);
  };
  if (devices == 0) {
    return std::nullopt;
  }
  if (profile == "raid1") {
    return copies(2);
  }
  if (profile == "raid1c3") {
    return copies(3);
  }
  if (profile == "raid1c4") {
    return copies(4);
  }
  if (profile == "single" || profile == "dup" || profile == "raid0") {
    return array_layout(Scheme::raid0, devices);
  }
  if (profile == "raid10") {
    return array_layout(Scheme::raid10, devices);
  }
  if (profile == "raid5" || profile == "raid6") {
    return array_layout(profile == "raid5" ? Scheme::raid5 : Scheme::raid6, devices);
  }
  return std::nullopt;
}

std::optional<Device> btrfs_device(const Machine& machine, DeviceTree& tree, const std::string& uuid) {
  const std::string folder = "/sys/fs/btrfs/" + uuid;
  const std::vector<std::string> names = machine.list(folder + "/devices");
  if (uuid.empty() || names.empty()) {
    return std::nullopt;
  }
  unsigned missing = 0;
  for (const std::string& id : machine.list(folder + "/devinfo")) {
    missing += machine.line(fmt::format("{}/devinfo/{}/missing", folder, id)) == "1" ? 1U : 0U;
  }
  std::vector<Device> members;
  members.reserve(names.size());
  for (const std::string& name : names) {
    members.push_back(tree.by_link(fmt::format("{}/devices/{}", folder, name)).value_or(plain_device(name)));
  }
  if (members.size() == 1 && missing == 0) {
    return std::move(members.front());
  }
  const std::string_view profile = data_profile(machine, folder);
  const auto devices = static_cast<unsigned>(members.size()) + missing;
  Device out = plain_device("btrfs " + uuid, DeviceKind::complex);
  for (const Device& member : members) {
    out.size += member.size;
  }
  out.layout = btrfs_layout(profile, devices);
  out.degraded = missing > 0;
  out.note = missing > 0 ? fmt::format("data profile {}, degraded: {} of {} devices missing", profile,
                                       missing, devices)
                         : fmt::format("data profile {}", profile.empty() ? "unknown" : profile);
  out.stripe =
      profile.starts_with("raid") && !profile.starts_with("raid1c") && profile != "raid1" ? 64 * 1024 : 0;
  out.below = std::move(members);
  inherit_from_below(out);
  return out;
}

}  // namespace sluice

#include "places/describe.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "places/btrfs.h"
#include "places/filesystems.h"
#include "places/naming.h"

namespace sluice {
namespace {

template <class T>
Trait<T> from_system(T value, const std::string& detail) {
  return {.value = std::move(value), .source = Source::system, .detail = detail};
}

template <class T>
Trait<T> assumed(T value, const std::string& detail) {
  return {.value = std::move(value), .source = Source::fallback, .detail = detail};
}

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? ~std::uint64_t{0} : out;
}

// The device and what is to be noted about it or, for a partition, about its owner.
std::string detail_of(const Device& device) {
  const Device* at = &device;
  while (at->note.empty() && at->kind == DeviceKind::partition && !at->below.empty()) {
    at = &at->below.front();
  }
  return at->note.empty() ? device.name : fmt::format("{}: {}", device.name, at->note);
}

void describe_device(Place& place) {
  const Device& device = *place.device;
  const std::string detail = detail_of(device);
  if (device.media != Media::unknown) {
    place.media = from_system(device.media, detail);
  } else {
    place.media = assumed(Media::unknown, detail);
  }
  place.is_volatile = from_system(device.is_volatile, detail);
  if (std::optional<Layout> layout = whole_layout(device)) {
    // Of a device whose medium is hidden the layout may be hidden as well.
    place.layout = device.media == Media::unknown ? assumed(std::move(*layout), detail)
                                                  : from_system(std::move(*layout), detail);
  }
}

}  // namespace

void describe_answer(const Answer& answer, const std::string& folder, Place& place) {
  place.reach = answer.reach;
  place.reach_note = answer.note;
  place.read_only = place.read_only || answer.read_only;
  place.path = folder;
  place.writable = answer.writable;
  if (!answer.writable && !answer.usable.empty()) {
    place.path = answer.usable;
    place.writable = true;
  }
  place.writable = place.writable && !place.read_only;
  place.quota = {};
  if (answer.block == 0 || answer.blocks == 0) {
    return;
  }
  place.capacity = from_system(times(answer.blocks, answer.block), "statvfs");
  place.free = from_system(times(answer.available, answer.block), "statvfs");
  if (answer.quota) {
    const std::string whose = fmt::format("quota of {}", answer.quota->whose);
    place.quota = from_system(answer.quota->limit, whose);
    if (answer.quota->left < *place.free) {
      place.free = from_system(answer.quota->left, whose);
    }
  }
}

Place Describer::describe(const Mount& mount, const Answer& answer, std::string uuid,
                          const NetworkFacts& network) {
  if (uuid.empty() && mount.type == "btrfs") {
    uuid = btrfs_uuid(machine_, mount.source);
  }
  const FsFacts facts = filesystem_facts(mount.type, mount.major != 0);
  Place out;
  out.mount = mount.point;
  out.filesystem = mount.type;
  out.origin = mount.source;
  out.options = mount.options;
  if (!mount.super_options.empty()) {
    out.options += "," + mount.super_options;
  }
  // A UUID in memory is new at every boot, and a layer's is its lower file system's.
  out.id =
      identity_of(mount, facts.kind == FsClass::local ? uuid : std::string{}, facts.kind == FsClass::network);
  // btrfs subvolumes have device numbers of their own but share a UUID, ZFS data sets share their pool.
  out.volume = facts.kind == FsClass::local && !uuid.empty() ? uuid
               : mount.type == "zfs"            ? "zfs:" + mount.source.substr(0, mount.source.find('/'))
               : facts.kind == FsClass::network ? fmt::format("{}:{}", mount.type, mount.source)
                                                : fmt::format("{}:{}", mount.major, mount.minor);
  out.read_only = mount.read_only();
  describe_answer(answer, mount.point, out);
  out.device = device_of(mount, uuid, network);
  if (out.device) {
    describe_device(out);
    if (!network.tool.empty() && out.layout) {
      out.layout.detail = fmt::format("{}: {}", network.tool, out.layout.detail);
    }
  }
  describe_type(mount, answer, network, out);
  return out;
}

std::optional<Device> Describer::device_of(const Mount& mount, const std::string& uuid,
                                           const NetworkFacts& network) {
  const FsFacts facts = filesystem_facts(mount.type, mount.major != 0);
  if (facts.kind == FsClass::memory) {
    return plain_device(mount.type, DeviceKind::simple, Media::ram, true);
  }
  if (facts.kind == FsClass::network) {
    return network_device(mount, network);
  }
  if (mount.type == "btrfs") {
    return btrfs_device(machine_, tree_, uuid);
  }
  if (mount.type == "zfs") {
    return zfs_device(machine_, tree_, pools_, mount.source);
  }
  if (mount.major != 0) {
    return tree_.by_number(mount.major, mount.minor);
  }
  if (facts.kind == FsClass::layered) {
    // Encrypting and mirroring FUSE file systems name the folder that they show as their source.
    const std::string_view upper = mount.option("upperdir");
    const std::string_view folder = upper.empty() ? std::string_view(mount.source) : upper;
    const Mount* under = mounts_.holder(folder);
    return under != nullptr && under != &mount ? tree_.under_folder(folder) : std::nullopt;
  }
  return std::nullopt;
}

void Describer::describe_type(const Mount& mount, const Answer& answer, const NetworkFacts& network,
                              Place& place) const {
  const FsFacts facts = filesystem_facts(mount.type, mount.major != 0);
  constexpr std::uint64_t page = 4096;
  if (facts.kind == FsClass::network) {
    place.global = facts.listed
                       ? from_system(true, fmt::format("{} is a network file system", mount.type))
                       : assumed(true, fmt::format("{} is taken as a network file system", mount.type));
    place.is_volatile = assumed(false, "network file systems are taken as persistent");
    if (answer.transfer != 0) {
      place.block = from_system(page, fmt::format("page size; the file system reports {}, its transfer size",
                                                  human_size(answer.transfer)));
    }
  } else if (facts.kind == FsClass::host) {
    place.global =
        assumed(false, fmt::format("{} may be shared by several machines; say so if it is", mount.type));
    place.is_volatile = assumed(false, "what the host keeps is taken as persistent");
  } else if (facts.kind == FsClass::unknown) {
    place.global = assumed(false, fmt::format("{} is not known", mount.type));
  } else {
    place.global = from_system(false, fmt::format("{} is local", mount.type));
  }
  if (!place.block && answer.block != 0) {
    place.block = from_system(answer.block, "statvfs");
  }
  std::string type = mount.type;
  if (const std::string_view upper = mount.option("upperdir"); !upper.empty()) {
    const Mount* under = mounts_.holder(upper);
    type = under != nullptr ? under->type : type;
  }
  if (network.largest_file != 0) {
    place.max_file = from_system(network.largest_file, network.tool);
  } else if (const auto largest = largest_file(type, answer.block)) {
    place.max_file = from_system(
        *largest,
        answer.block != 0 ? fmt::format("{} with blocks of {}", type, human_size(answer.block)) : type);
  }
}

}  // namespace sluice

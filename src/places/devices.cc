#include "places/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/files.h"
#include "base/text.h"
#include "places/filesystems.h"

namespace sluice {
namespace {

// Deeper than any sane stack; ends trees that bite their own tail.
constexpr unsigned deepest = 16;
constexpr std::uint64_t sector = 512;

std::string last_part(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

// How fast media are, slowest first; unknown before all, because nothing may be promised of it.
int rank(Media media) {
  constexpr std::array order = {Media::unknown, Media::network, Media::hdd, Media::ssd,
                                Media::nvme,    Media::nvram,   Media::ram};
  return static_cast<int>(std::find(order.begin(), order.end(), media) - order.begin());
}

struct Family {
  std::string_view prefix;
  Media media;
  bool is_volatile;
  bool by_rotation;  // hdd or ssd by the rotational flag
  std::string_view note;
};

constexpr std::string_view unreliable = "virtual disk: what lies under it is not known";

// Longest prefix first where one starts another.
constexpr std::array families = std::to_array<Family>({
    {"nvme", Media::nvme, false, false, ""},
    {"mmcblk", Media::ssd, false, false, ""},
    {"mtdblock", Media::ssd, false, false, ""},
    {"zram", Media::ram, true, false, ""},
    {"ram", Media::ram, true, false, ""},
    {"pmem", Media::nvram, false, false, ""},
    {"xvd", Media::unknown, false, false, unreliable},
    {"vd", Media::unknown, false, false, unreliable},
    {"sd", Media::unknown, false, true, ""},
    {"hd", Media::unknown, false, true, ""},
    {"dasd", Media::unknown, false, true, ""},
    {"nbd", Media::network, false, false, "network block device"},
    {"rbd", Media::network, false, false, "Ceph block device"},
    {"drbd", Media::network, false, false, "replicated over the network"},
});

const Family* family_of(std::string_view name) {
  for (const Family& family : families) {
    if (name.starts_with(family.prefix)) {
      return &family;
    }
  }
  return nullptr;
}

// Disks that a hypervisor makes up pass any value as rotational.
bool is_virtual(std::string_view vendor, std::string_view model) {
  constexpr std::array<std::string_view, 6> words = {"QEMU", "VMware", "VBOX", "Msft", "Virtual", "Google"};
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return vendor.starts_with(word) || model.starts_with(word);
  });
}

std::optional<Scheme> md_scheme(std::string_view level) {
  constexpr std::array<std::pair<std::string_view, Scheme>, 7> levels = {{{"raid0", Scheme::raid0},
                                                                          {"linear", Scheme::raid0},
                                                                          {"raid1", Scheme::raid1},
                                                                          {"raid4", Scheme::raid4},
                                                                          {"raid5", Scheme::raid5},
                                                                          {"raid6", Scheme::raid6},
                                                                          {"raid10", Scheme::raid10}}};
  for (const auto& [name, scheme] : levels) {
    if (name == level) {
      return scheme;
    }
  }
  return std::nullopt;
}

std::optional<Scheme> lvm_scheme(std::string_view segment) {
  if (segment == "striped" || segment == "linear") {
    return Scheme::raid0;
  }
  if (segment == "mirror") {
    return Scheme::raid1;
  }
  // raid5_ls, raid6_zr, raid10_near, raid0_meta: the level is what stands before the dash.
  return md_scheme(segment.substr(0, segment.find('_')));
}

// The metadata volumes of raid, thin and cache volumes hold no data. A mapping's note starts with its name.
bool is_metadata_volume(const Device& device) {
  const std::string_view name = std::string_view(device.note).substr(0, device.note.find(','));
  return device.name.starts_with("dm-") && (name.ends_with("_tmeta") || name.ends_with("_cmeta") ||
                                            name.find("_rmeta_") != std::string_view::npos);
}

}  // namespace

std::optional<Layout> copies_layout(unsigned copies, unsigned disks) {
  if (copies < 2 || copies > disks || disks > 65536) {
    return std::nullopt;
  }
  const Layout set{.scheme = Scheme::replica, .disks = copies, .parity = 0, .members = {}};
  const unsigned sets = (disks + copies - 1) / copies;
  return sets == 1 ? set
                   : Layout{.scheme = Scheme::raid0,
                            .disks = sets,
                            .parity = 0,
                            .members = std::vector<Layout>(sets, set)};
}

std::optional<Layout> array_layout(Scheme scheme, unsigned disks) {
  const auto make = [](Scheme kind, unsigned count, unsigned parity = 0) {
    return Layout{.scheme = kind, .disks = count, .parity = parity, .members = {}};
  };
  if (disks == 0 || disks > 65536) {
    return std::nullopt;
  }
  if (disks == 1) {
    return Layout{};
  }
  if ((scheme == Scheme::raid4 || scheme == Scheme::raid5 || scheme == Scheme::raid10) && disks == 2) {
    return make(Scheme::raid1, 2);
  }
  if (scheme == Scheme::raid6 && disks == 3) {
    return make(Scheme::mds, 3, 2);
  }
  if (scheme == Scheme::raid10 && disks % 2 != 0) {
    return copies_layout(2, disks);
  }
  if (scheme == Scheme::raid6 && disks < 3) {
    return std::nullopt;
  }
  return make(scheme, disks);
}

Device plain_device(std::string name, DeviceKind kind, Media media, bool is_volatile) {
  Device out;
  out.name = std::move(name);
  out.kind = kind;
  out.media = media;
  out.is_volatile = is_volatile;
  return out;
}

void inherit_from_below(Device& device) {
  if (device.below.empty()) {
    return;
  }
  device.media =
      std::min_element(device.below.begin(), device.below.end(), [](const Device& a, const Device& b) {
        return rank(a.media) < rank(b.media);
      })->media;
  for (const Device& one : device.below) {
    device.is_volatile = device.is_volatile || one.is_volatile;
  }
}

std::optional<Layout> whole_layout(const Device& device) {
  if (device.kind == DeviceKind::simple) {
    return device.media == Media::network ? std::nullopt : std::optional<Layout>(Layout{});
  }
  if (device.kind == DeviceKind::partition) {
    return device.below.empty() ? std::nullopt : whole_layout(device.below.front());
  }
  std::optional<Layout> out = device.layout;
  if (!out || !out->members.empty()) {
    return out;
  }
  std::vector<Layout> members;
  bool nested = false;
  for (const Device& one : device.below) {
    members.push_back(whole_layout(one).value_or(Layout{}));
    nested = nested || members.back() != Layout{};
  }
  if (out->scheme == Scheme::single && !members.empty()) {
    return members.front();
  }
  if (nested) {
    members.resize(out->disks);  // missing members count as plain disks
    out->members = std::move(members);
  }
  return out;
}

std::optional<Device> DeviceTree::by_number(unsigned major, unsigned minor, unsigned depth) {
  return by_link(fmt::format("/sys/dev/block/{}:{}", major, minor), depth);
}

std::optional<Device> DeviceTree::by_name(const std::string& kernel_name) {
  if (auto found = by_link("/sys/class/block/" + kernel_name, 0)) {
    return found;
  }
  return by_link("/sys/block/" + kernel_name, 0);
}

std::optional<Device> DeviceTree::by_link(const std::string& link, unsigned depth) {
  const std::string target = machine_.link(link);
  if (target.empty()) {
    return std::nullopt;
  }
  return at(absolute(target, above(link)), depth);
}

std::optional<Device> DeviceTree::at(const std::string& folder, unsigned depth) {
  if (depth > deepest) {
    return std::nullopt;
  }
  if (const auto found = seen_.find(folder); found != seen_.end()) {
    return found->second;
  }
  // While it is being looked at, a device that claims to lie on itself finds nothing.
  seen_[folder] = std::nullopt;
  Device device = look(folder, depth);
  seen_[folder] = device;
  return device;
}

Device DeviceTree::look(const std::string& folder, unsigned depth) {
  Device device;
  device.name = last_part(folder);
  device.size = machine_.number(folder + "/size") * sector;
  if (machine_.read(folder + "/partition")) {
    device.kind = DeviceKind::partition;
    if (auto owner = at(std::string(above(folder)), depth + 1)) {
      device.logical_block = owner->logical_block;
      device.physical_block = owner->physical_block;
      device.below.push_back(std::move(*owner));
      inherit_from_below(device);
    }
    return device;
  }
  look_at_queue(folder, device);
  if (device.name.starts_with("md")) {
    look_at_array(folder, depth, device);
  } else if (device.name.starts_with("dm-")) {
    look_at_mapping(folder, depth, device);
  } else if (device.name.starts_with("loop")) {
    look_at_loop(folder, depth, device);
  } else if (std::vector<Device> members = slaves(folder, depth); !members.empty()) {
    // bcache and the like: known to lie on others, not known how.
    device.kind = DeviceKind::complex;
    device.below = std::move(members);
    inherit_from_below(device);
  } else if (device.name.starts_with("rbd") || device.name.starts_with("drbd")) {
    device.kind = DeviceKind::complex;
  }
  return device;
}

void DeviceTree::look_at_queue(const std::string& folder, Device& device) const {
  device.logical_block = static_cast<std::uint32_t>(machine_.number(folder + "/queue/logical_block_size"));
  device.physical_block = static_cast<std::uint32_t>(machine_.number(folder + "/queue/physical_block_size"));
  // "mq-deadline kyber [bfq] none": the one in brackets is in force.
  const std::string schedulers = machine_.line(folder + "/queue/scheduler");
  const std::size_t start = schedulers.find('[');
  const std::size_t end = schedulers.find(']');
  device.scheduler = start != std::string::npos && end != std::string::npos && end > start
                         ? schedulers.substr(start + 1, end - start - 1)
                         : schedulers;
  device.model = machine_.line(folder + "/device/model");
  if (device.model.empty()) {
    device.model = machine_.line(folder + "/device/name");
  }
  const Family* family = family_of(device.name);
  if (family == nullptr) {
    return;
  }
  device.media = family->media;
  device.is_volatile = family->is_volatile;
  device.note = family->note;
  if (family->by_rotation) {
    const std::string rotates = machine_.line(folder + "/queue/rotational");
    if (is_virtual(machine_.line(folder + "/device/vendor"), device.model)) {
      device.note = unreliable;
    } else if (rotates == "1" && folder.find("/usb") != std::string::npos) {
      device.note = "USB device: sticks say that they rotate";
    } else if (!rotates.empty()) {
      device.media = rotates == "0" ? Media::ssd : Media::hdd;
    }
  }
}

std::vector<Device> DeviceTree::slaves(const std::string& folder, unsigned depth) {
  std::vector<Device> out;
  for (const std::string& name : machine_.list(folder + "/slaves")) {
    if (auto device = by_link(fmt::format("{}/slaves/{}", folder, name), depth + 1)) {
      out.push_back(std::move(*device));
    }
  }
  return out;
}

void DeviceTree::look_at_array(const std::string& folder, unsigned depth, Device& device) {
  device.kind = DeviceKind::complex;
  const std::string level = machine_.line(folder + "/md/level");
  const auto disks = static_cast<unsigned>(machine_.number(folder + "/md/raid_disks"));
  device.stripe = level == "linear" || level == "raid1" ? 0 : machine_.number(folder + "/md/chunk_size");
  for (Device& member : slaves(folder, depth)) {
    const std::string state = machine_.line(fmt::format("{}/md/dev-{}/state", folder, member.name));
    if (state.find("spare") == std::string::npos && state.find("faulty") == std::string::npos) {
      device.below.push_back(std::move(member));
    }
  }
  if (const std::optional<Scheme> scheme = md_scheme(level)) {
    device.layout = array_layout(*scheme, disks);
  }
  // The low byte of raid10's layout is the number of copies near each other, the next one of those far.
  const std::uint64_t copies = machine_.number(folder + "/md/layout");
  if (level == "raid10" && copies != 0 && (copies & 0xFF) * ((copies >> 8) & 0xFF) != 2) {
    device.layout = copies_layout(static_cast<unsigned>((copies & 0xFF) * ((copies >> 8) & 0xFF)), disks);
  }
  if (const std::uint64_t missing = machine_.number(folder + "/md/degraded"); missing > 0) {
    device.degraded = true;
    device.note = fmt::format("degraded: {} of {} disks missing", missing, disks);
  } else if (!md_scheme(level)) {
    device.note = fmt::format("md level {}", level.empty() ? "unknown" : level);
  }
  inherit_from_below(device);
}

void DeviceTree::look_at_mapping(const std::string& folder, unsigned depth, Device& device) {
  const std::string uuid = machine_.line(folder + "/dm/uuid");
  const std::string name = machine_.line(folder + "/dm/name");
  std::vector<Device> members = slaves(folder, depth);
  std::erase_if(members, is_metadata_volume);
  device.kind = DeviceKind::partition;
  device.note = name;
  if (uuid.find("mpath-") != std::string::npos && !uuid.starts_with("part")) {
    device.note = fmt::format("{}, multipath over {} paths", name, members.size());
    members.resize(std::min<std::size_t>(members.size(), 1));  // all paths lead to the same disk
  } else if (uuid.starts_with("CRYPT-")) {
    device.note = name + ", encrypted";
  } else if (uuid.starts_with("LVM-")) {
    const auto found = volumes_.find(name);
    if (found != volumes_.end()) {
      const LvmVolume& volume = found->second;
      const std::optional<Scheme> scheme = lvm_scheme(volume.segment);
      const unsigned disks =
          volume.mixed || volume.stripes <= 1 ? static_cast<unsigned>(members.size()) : volume.stripes;
      if (scheme && disks > 1) {
        device.kind = DeviceKind::complex;
        device.layout = array_layout(volume.mixed ? Scheme::raid0 : *scheme, disks);
        device.stripe = volume.mixed ? 0 : volume.stripe;
      }
      device.note = fmt::format("{}, {}{}", name, volume.segment, volume.mixed ? " and other segments" : "");
    } else if (members.size() > 1) {
      device.note = fmt::format("{}, LVM over {} devices, lvs was not available", name, members.size());
    }
  }
  if (members.size() > 1 && device.kind == DeviceKind::partition) {
    device.kind = DeviceKind::complex;  // over several devices, but how is not known
  }
  device.below = std::move(members);
  inherit_from_below(device);
}

void DeviceTree::look_at_loop(const std::string& folder, unsigned depth, Device& device) {
  device.kind = DeviceKind::partition;
  const Result<std::string> text = machine_.read(folder + "/loop/backing_file");
  if (!text) {
    return;
  }
  std::string_view file = *text;
  if (file.ends_with('\n')) {
    file.remove_suffix(1);
  }
  device.note = fmt::format("file {}", quote(file));
  if (auto under = under_folder(above(file), depth + 1)) {
    device.below.push_back(std::move(*under));
    inherit_from_below(device);
  }
}

std::optional<Device> DeviceTree::under_folder(std::string_view folder, unsigned depth) {
  const Mount* mount = mounts_.holder(folder);
  if (mount == nullptr || depth > deepest) {
    return std::nullopt;
  }
  switch (filesystem_facts(mount->type, mount->major != 0).kind) {
    case FsClass::memory:
      return plain_device(mount->type, DeviceKind::simple, Media::ram, true);
    case FsClass::network:
      return plain_device(mount->source, DeviceKind::complex, Media::network);
    case FsClass::layered: {
      const std::string_view upper = mount->option("upperdir");
      return upper.empty() || mounts_.holder(upper) == mount ? std::nullopt : under_folder(upper, depth + 1);
    }
    default:
      break;
  }
  if (mount->major != 0) {
    return by_number(mount->major, mount->minor, depth + 1);
  }
  // btrfs has a number of its own; the device it was mounted from stands for it.
  return mount->source.starts_with("/dev/") ? by_name(last_part(mount->source)) : std::nullopt;
}

}  // namespace sluice

// Devices as sysfs shows them: partition -> owner, array -> members, down to simple disks.
//
// Every device is looked at once, however many mounts lie on it. One object serves one discovery.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "places/lvm.h"
#include "places/machine.h"
#include "places/mounts.h"
#include "places/place.h"

namespace sluice {

class DeviceTree {
 public:
  // REQUIRES: all three outlive this object.
  DeviceTree(const Machine& machine, const Mounts& mounts, const LvmVolumes& volumes)
      : machine_(machine), mounts_(mounts), volumes_(volumes) {}

  std::optional<Device> by_number(unsigned major, unsigned minor) { return by_number(major, minor, 0); }
  std::optional<Device> by_name(const std::string& kernel_name);
  // The device that a sysfs link leads to.
  std::optional<Device> by_link(const std::string& link) { return by_link(link, 0); }
  // What lies under a folder of a mount that shows other folders (overlay, loop, encryption by FUSE).
  std::optional<Device> under_folder(std::string_view folder) { return under_folder(folder, 0); }

 private:
  std::optional<Device> by_number(unsigned major, unsigned minor, unsigned depth);
  std::optional<Device> by_link(const std::string& link, unsigned depth);
  std::optional<Device> under_folder(std::string_view folder, unsigned depth);
  std::optional<Device> at(const std::string& folder, unsigned depth);
  Device look(const std::string& folder, unsigned depth);
  void look_at_queue(const std::string& folder, Device& device) const;
  void look_at_array(const std::string& folder, unsigned depth, Device& device);
  void look_at_mapping(const std::string& folder, unsigned depth, Device& device);
  void look_at_loop(const std::string& folder, unsigned depth, Device& device);
  std::vector<Device> slaves(const std::string& folder, unsigned depth);

  const Machine& machine_;
  const Mounts& mounts_;
  const LvmVolumes& volumes_;
  std::map<std::string, std::optional<Device>> seen_;  // by folder in sysfs
};

// A device of which only this is known.
Device plain_device(std::string name, DeviceKind kind = DeviceKind::simple, Media media = Media::unknown,
                    bool is_volatile = false);

// Takes media and volatility from the members: the slowest kind, unknown if any is; volatile if any is.
void inherit_from_below(Device& device);

// The layout down to the simple disks; nothing when some part of it is unknown.
std::optional<Layout> whole_layout(const Device& device);

// A layout that does what `scheme` does over so many disks, also for the small arrays that are possible but
// have another name in our language (a raid5 of two disks is a mirror). Nothing when there is none.
// So many copies of everything over that many disks: sets of copies side by side, rounded up where the disks
// do not divide evenly.
std::optional<Layout> copies_layout(unsigned copies, unsigned disks);
std::optional<Layout> array_layout(Scheme scheme, unsigned disks);

}  // namespace sluice

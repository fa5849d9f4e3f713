// btrfs holds several devices together by itself; its mounts have a device number that leads nowhere.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "places/devices.h"

namespace sluice {

// The UUID of the file system that lies on this device, "" when there is none.
std::string btrfs_uuid(const Machine& machine, std::string_view source);

// The devices of the file system that has this UUID.
std::optional<Device> btrfs_device(const Machine& machine, DeviceTree& tree, const std::string& uuid);

// What a data profile (raid1, raid1c3, dup, ...) over so many devices is in our language.
std::optional<Layout> btrfs_layout(std::string_view profile, unsigned devices);

}  // namespace sluice

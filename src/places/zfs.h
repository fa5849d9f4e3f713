// ZFS pools as `zpool status` shows them. Parsing is pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tools.h"
#include "places/devices.h"

namespace sluice {

struct ZfsGroup {
  std::string type;                // mirror, raidz1, raidz2, raidz3, disk
  std::vector<std::string> disks;  // paths
};

struct ZfsPool {
  std::string state;             // ONLINE, DEGRADED, ...
  std::vector<ZfsGroup> groups;  // data is striped over them
  bool understood = true;        // false: has groups of a kind that is not known here
};

using ZfsPools = std::map<std::string, ZfsPool, std::less<>>;

// What to run for it.
Command zpool_command();
ZfsPools parse_zpool_status(std::string_view text);

// The pool under a dataset such as "tank/home".
Device zfs_device(const Machine& machine, DeviceTree& tree, const ZfsPools& pools, std::string_view dataset);

}  // namespace sluice

// Network file systems: what their own tools say about copies, pieces and servers. Parsing is pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mountinfo.h"
#include "places/machine.h"
#include "places/place.h"

namespace sluice {

// What a tool said; empty where it said nothing.
struct NetworkFacts {
  std::optional<Layout> layout;
  std::vector<std::string> targets;  // disks, servers' targets or bricks
  std::uint64_t stripe = 0;          // bytes
  std::uint64_t largest_file = 0;    // bytes
  std::string note;
  std::string tool;  // which one said it
};

// The tools to ask about a mount; none for file systems that have none. The same words may come up for
// several mounts and need to be run once.
std::vector<Tool> network_tools(const Mount& mount);

// Reads the outcomes of network_tools(mount), in their order.
NetworkFacts network_facts(const Mount& mount, const std::vector<const Outcome*>& outcomes);

Device network_device(const Mount& mount, const NetworkFacts& facts);

NetworkFacts parse_lfs(std::string_view df, std::string_view getstripe);
NetworkFacts parse_ceph(std::string_view osd_dump, std::string_view fs_dump, std::string_view filesystem);
NetworkFacts parse_beegfs(std::string_view targets, std::string_view entry);
NetworkFacts parse_gluster(std::string_view volume_info);
NetworkFacts parse_mmlsfs(std::string_view text);

}  // namespace sluice

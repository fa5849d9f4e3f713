#include "places/zfs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace sluice {
namespace {

// Sections of a pool that hold no data of their own.
constexpr std::array<std::string_view, 3> sections = {"logs", "cache", "spares"};

std::string group_type(std::string_view name) {
  const std::string_view kind = name.substr(0, name.find('-'));
  if (kind == "mirror" || kind == "raidz1" || kind == "raidz2" || kind == "raidz3") {
    return std::string(kind);
  }
  return kind == "raidz" ? "raidz1" : "";
}

std::optional<Layout> group_layout(const ZfsGroup& group) {
  const auto disks = static_cast<unsigned>(group.disks.size());
  if (group.type == "disk" || disks <= 1) {
    return Layout{};
  }
  if (group.type == "mirror") {
    return array_layout(Scheme::raid1, disks);
  }
  if (group.type == "raidz3") {
    return disks > 3
               ? std::optional(Layout{.scheme = Scheme::mds, .disks = disks, .parity = 3, .members = {}})
               : std::nullopt;
  }
  return array_layout(group.type == "raidz1" ? Scheme::raid5 : Scheme::raid6, disks);
}

}  // namespace

Command zpool_command() {
  return {"zpool", {"status", "-LP"}};
}

ZfsPools parse_zpool_status(std::string_view text) {
  ZfsPools out;
  ZfsPool* pool = nullptr;
  std::string name;
  bool data = false;  // inside the part of the table that lists where data is
  for (std::string_view line : split(text, '\n')) {
    const std::string_view word = trim(line);
    if (word.starts_with("pool: ")) {
      name = word.substr(6);
      pool = &out[name];
      data = false;
    } else if (pool != nullptr && word.starts_with("state: ")) {
      pool->state = word.substr(7);
    } else if (pool != nullptr && line.starts_with('\t')) {
      line.remove_prefix(1);
      const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
      const std::vector<std::string_view> fields = split_blanks(line);
      if (fields.empty() || fields[0] == "NAME") {
        continue;
      }
      if (indent == 0) {
        // "special" and "dedup" groups hold data that the pool cannot do without: they count.
        data = std::find(sections.begin(), sections.end(), fields[0]) == sections.end();
      } else if (data && indent == 2 && fields[0].starts_with('/')) {
        pool->groups.push_back({.type = "disk", .disks = {std::string(fields[0])}});
      } else if (data && indent == 2) {
        pool->groups.push_back({.type = group_type(fields[0]), .disks = {}});
        pool->understood = pool->understood && !pool->groups.back().type.empty();
      } else if (data && indent == 4 && !pool->groups.empty()) {
        // A disk being replaced shows as a group with two more below it; it counts once.
        pool->groups.back().disks.emplace_back(fields[0]);
      }
    }
  }
  return out;
}

Device zfs_device(const Machine& machine, DeviceTree& tree, const ZfsPools& pools, std::string_view dataset) {
  const std::string name(dataset.substr(0, dataset.find('/')));
  Device out = plain_device(name, DeviceKind::complex);
  std::string state = machine.line("/proc/spl/kstat/zfs/" + name + "/state");
  const auto found = pools.find(name);
  if (found != pools.end()) {
    const ZfsPool& pool = found->second;
    state = pool.state.empty() ? state : pool.state;
    std::vector<Layout> groups;
    for (const ZfsGroup& group : pool.groups) {
      const std::optional<Layout> layout = group_layout(group);
      groups.push_back(layout.value_or(Layout{}));
      for (const std::string& disk : group.disks) {
        const std::string kernel_name = disk.substr(disk.rfind('/') + 1);
        out.below.push_back(tree.by_name(kernel_name).value_or(plain_device(kernel_name)));
        out.size += out.below.back().size;
      }
    }
    if (pool.understood && groups.size() == 1) {
      out.layout = groups.front();
    } else if (pool.understood && groups.size() > 1) {
      const bool plain =
          std::all_of(groups.begin(), groups.end(), [](const Layout& one) { return one == Layout{}; });
      out.layout = Layout{.scheme = Scheme::raid0,
                          .disks = static_cast<unsigned>(groups.size()),
                          .parity = 0,
                          .members = plain ? std::vector<Layout>{} : std::move(groups)};
    }
    inherit_from_below(out);
  }
  if (!state.empty() && state != "ONLINE") {
    out.degraded = true;
    out.note = fmt::format("{}: pool state {}", lower(state), state);
  }
  return out;
}

}  // namespace sluice

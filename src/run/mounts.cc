#include "run/mounts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/mountinfo.h"
#include "base/text.h"
#include "base/units.h"
#include "places/filesystems.h"
#include "places/overrides.h"

namespace sluice {
namespace {

bool is_below(std::string_view path, std::string_view folder) {
  return folder == "/" || path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

// The mount that a path is on, as its name says.
const Mount* mount_under(const std::vector<Mount>& mounts, std::string_view path) {
  const Mount* out = nullptr;
  for (const Mount& mount : mounts) {
    if (is_below(path, mount.point) && (out == nullptr || mount.point.size() >= out->point.size())) {
      out = &mount;
    }
  }
  return out;
}

// What the device likes its writes to be a multiple of: of an array, a stripe over all members.
std::uint64_t best_write(const Mount& mount) {
  const std::string device = fmt::format("/sys/dev/block/{}:{}", mount.major, mount.minor);
  for (const char* queue : {"/queue", "/../queue"}) {  // a partition has its disk's
    if (const auto text = read_file(device + queue + "/optimal_io_size"); text) {
      return parse_count(trim(*text)).value_or(0);
    }
  }
  return 0;
}

std::uint32_t align_of(const Mount& mount) {
  const std::uint64_t best = mount.major == 0 ? 0 : best_write(mount);
  return best < 512 || best > block_bytes ? 0 : static_cast<std::uint32_t>(block_bytes / best * best);
}

}  // namespace

Result<std::vector<AreaMount>> local_mounts(const Config& config) {
  SLUICE_TRY(const Overrides overrides, parse_overrides(config));
  SLUICE_TRY(const std::string text, read_file("/proc/self/mountinfo"));
  const MountInfo info = parse_mountinfo(text);
  std::vector<AreaMount> out;
  for (const Mount& mount : info.mounts) {
    const FsClass kind = filesystem_facts(mount.type, mount.major != 0).kind;
    bool local = kind == FsClass::local || kind == FsClass::memory || mount.type == "overlay";
    for (const PlaceOverride& place : overrides.places) {
      if (place.path && place.traits.global.value && mount_under(info.mounts, *place.path) == &mount) {
        local = !*place.traits.global.value;
      }
    }
    if (local && out.size() < most_mounts) {
      out.push_back({.id = static_cast<std::int32_t>(mount.id), .align = align_of(mount)});
    }
  }
  return out;
}

}  // namespace sluice

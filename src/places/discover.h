// Finds the places of this machine, or of another one whose /proc, /sys and tool outputs lie in a folder.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "places/place.h"

namespace sluice {

struct DiscoverOptions {
  std::string system;  // a folder that holds another machine's tree; "" = this machine
  Duration timeout = Duration(0, 700'000'000);          // a mount or tool that takes longer is unreachable
  std::function<void(std::string_view)> progress = {};  // called while waiting: "waiting for 2 of 14 mounts"
};

struct Skipped {
  std::string mount;
  std::string filesystem;
  std::string because;
};

struct Discovery {
  std::vector<Place> places;     // in the order of their mount points
  std::vector<Skipped> skipped;  // mounts that are no place, with the reason
};

// Mounts that hang or deny access come back as places with their `reach` set; only a system without
// mountinfo, or a configuration that is wrong, is an error.
Result<Discovery> discover(const Config& config, const DiscoverOptions& options = {});

// The place that an absolute path lies on, by its text; null where its mount is none. Of several on one mount
// the innermost whose folder it is in.
const Place* place_of(const Discovery& found, std::string_view path);

}  // namespace sluice

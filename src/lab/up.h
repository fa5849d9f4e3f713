// A set of mounted places to study: those of IOSIG's table 2, scaled.
#pragma once

#include <functional>
#include <string_view>

#include "base/json_fwd.h"
#include "lab/folder.h"

namespace sluice::lab {

struct UpOptions {
  double scale = 1;          // divides capacities and latencies, keeps bandwidths
  double slow_motion = 1;    // multiplies all times
  std::string backing = {};  // a folder for the devices' bytes, or "" for memory
};

// Makes devices, file systems and mounts in the lab, writes LAB/sluice.toml that describes them, and tells
// what it made and what of it this machine cannot honour. On failure everything is taken down again.
// REQUIRES: the lab's lock, and root.
Result<Json> bring_up(const std::string& lab, UniqueFd& lock, const UpOptions& options,
                      const std::function<void(std::string_view)>& progress);

}  // namespace sluice::lab

// Logical volumes as `lvs` reports them. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/tools.h"

namespace sluice {

struct LvmVolume {
  std::string segment;       // linear, striped, raid5_ls, thin, ...
  unsigned stripes = 1;      // members, parity included
  std::uint64_t stripe = 0;  // bytes
  bool mixed = false;        // segments differ
};

// By device-mapper name, such as "vg-data".
using LvmVolumes = std::map<std::string, LvmVolume, std::less<>>;

// What to run for it.
Command lvs_command();
// Nothing when the text is not what lvs prints.
LvmVolumes parse_lvs(std::string_view json);

}  // namespace sluice

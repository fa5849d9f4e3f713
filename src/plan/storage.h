// The storage as a plan sees it: the places of this machine, with what the catalog knows of them.
#pragma once

#include <string>
#include <vector>

#include "base/config.h"
#include "base/options.h"
#include "places/discover.h"
#include "plan/plan.h"

namespace sluice {

struct StorageOptions {
  DiscoverOptions discover;
  std::string catalog;    // "" = the user's own
  bool remember = false;  // write what was seen back to the catalog
  bool profiles = false;  // read what was measured
};

// The settings that say how storage is looked at, for whoever has a table of options.
inline constexpr Option option_timeout = {
    .name = "timeout",
    .type = OptionType::duration,
    .argument = "TIME",
    .range = "10ms..1h",
    .fallback = "700ms",
    .help = "a mount or storage tool that does not answer within this time counts as unreachable",
    .setting = true};
inline constexpr Option option_catalog = {
    .name = "catalog",
    .type = OptionType::path,
    .argument = "FILE",
    .help = "where the catalog is; without it, sluice/catalog.db in the XDG state folder",
    .setting = true};

struct Storage {
  Discovery found;
  Profiles profiles;
  std::vector<std::string>
      warnings;  // what did not work and what that means; the places are good all the same
};

// Another machine's tree (DiscoverOptions::system) is looked at without the catalog.
Result<Storage> survey(const Config& config, const StorageOptions& options);

}  // namespace sluice

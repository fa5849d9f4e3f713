// The storage as a plan sees it: the places of this machine, with what the catalog knows of them.
#pragma once

#include <string>
#include <vector>

#include "base/config.h"
#include "places/discover.h"

namespace sluice {

struct StorageOptions {
  DiscoverOptions discover;
  std::string catalog;    // "" = the user's own
  bool remember = false;  // write what was seen back to the catalog
};

struct Storage {
  Discovery found;
  std::vector<std::string>
      warnings;  // what did not work and what that means; the places are good all the same
};

// Another machine's tree (DiscoverOptions::system) is looked at without the catalog.
Result<Storage> survey(const Config& config, const StorageOptions& options);

}  // namespace sluice

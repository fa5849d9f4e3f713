// The devices of a volume, opened.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fronts/volume/volume_folder.h"
#include "tier/ring.h"
#include "tier/store.h"

namespace sluice::volume {

struct OpenTiers {
  std::unique_ptr<tier::Ring> ring;
  std::vector<std::unique_ptr<tier::Device>> devices;
  std::vector<tier::TierDevice> tiers;  // those that are there, in the description's order
  std::vector<int> fds;                 // of NBD connections
  std::vector<std::string> missing;     // why a tier is not there
};

// A tier that cannot be opened is left out, unless `all` must be there.
Result<OpenTiers> open_tiers(const Description& description, bool look_only, bool all);

// Refuses what holds something else: a file system, another volume's tier.
Status check_empty(const TierSpec& spec);

}  // namespace sluice::volume

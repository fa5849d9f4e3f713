// The storage as a plan sees it: the places of this machine, with what the catalog knows of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/options.h"
#include "catalog/catalog.h"
#include "places/discover.h"
#include "plan/plan.h"

namespace sluice {

struct StorageOptions {
  DiscoverOptions discover;
  std::string catalog;       // "" = the user's own
  bool remember = false;     // write what was seen back to the catalog
  bool profiles = false;     // read what was measured
  bool corrections = false;  // and what programs took
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

inline constexpr Option option_corrections = {
    .name = "corrections",
    .type = OptionType::choice,
    .argument = "WHETHER",
    .range = "on|off",
    .fallback = "on",
    .help =
        "whether forecasts are corrected by what programs took under `sluice run`, and that is remembered",
    .setting = true};

struct Storage {
  Discovery found;
  Profiles profiles;
  std::vector<std::string>
      warnings;  // what did not work and what that means; the places are good all the same
};

// What is known of how fast a place is; null where nothing is.
const Evidence* evidence_of(const Storage& storage, const Place& place);

// What the catalog remembers of one run's requests, as forecasts use it; nothing where it makes no sense.
std::optional<PlaceOutcome> outcome_from(const OutcomeRow& row);

// Another machine's tree (DiscoverOptions::system) is looked at without the catalog.
Result<Storage> survey(const Config& config, const StorageOptions& options);

}  // namespace sluice

// How verbs look at the storage: the same options and the same steps for all of them.
#pragma once

#include "cli/verb.h"
#include "plan/storage.h"

namespace sluice {

inline constexpr Option option_system = {
    .name = "system",
    .type = OptionType::path,
    .argument = "FOLDER",
    .help =
        "look at another machine: a folder with its /proc and /sys (tests/fixtures/systems has samples); "
        "nothing is remembered"};

// The storage by these options; what did not work is said on standard error. With `remember`, what was seen
// is written to the catalog; with `profiles`, what was measured is read from it. What programs took is read
// for verbs that have the option --corrections, and where that is on.
Result<Storage> read_places(const Context& context, bool remember, bool profiles = false);

// The place that is called so, or whose folder or mount point the path is; a name that is none is an error.
Result<Place> named_place(const std::vector<Place>& places, const std::string& name);

}  // namespace sluice

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
// is written to the catalog.
Result<Storage> read_places(const Context& context, bool remember);

}  // namespace sluice

// How verbs look at the storage: the same options and the same steps for all of them.
#pragma once

#include "cli/verb.h"
#include "places/discover.h"

namespace sluice {

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
inline constexpr Option option_system = {
    .name = "system",
    .type = OptionType::path,
    .argument = "FOLDER",
    .help =
        "look at another machine: a folder with its /proc and /sys (tests/fixtures/systems has samples); "
        "nothing is remembered"};

// The storage by these options; what did not work is said on standard error. With `remember`, what was seen
// is written to the catalog.
Result<Discovery> read_places(const Context& context, bool remember);

}  // namespace sluice

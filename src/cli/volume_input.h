// What the verbs of `sluice volume` share.
#pragma once

#include <array>
#include <string>

#include "cli/verb.h"
#include "fronts/volume/manage.h"

namespace sluice {

inline constexpr std::array volume_rows = {&volume::option_volumes};

// The volume that the first operand names.
Result<volume::VolumeFolder> volume_of(const Context& context);
// Asks the volume's server; an error says how to start it.
Result<Json> ask_volume(const volume::VolumeFolder& folder, const std::string& command,
                        const Json& request = nullptr);

// Until a tier that is being drained is empty, with progress. The time left is by what the last ten seconds
// brought; a drain that gets nowhere for a minute is an error.
Result<std::uint64_t> wait_until_empty(const volume::VolumeFolder& folder, const std::string& tier,
                                       std::uint64_t left);

// "*.tier" of status and stat as a table for people.
std::string volume_tiers_text(const Json& tiers, const Style& style);

}  // namespace sluice

// What `sluice run` does with files that were placed: its program sees them as files, and the catalog follows
// what becomes of their names.
#pragma once

#include <vector>

#include "base/json_fwd.h"
#include "cli/verb.h"
#include "run/placed.h"

namespace sluice {

// None where there is no catalog; where it cannot be read that is said.
std::vector<PlacedFile> placed_for_run(const Context& context);

// Notes it in the catalog; what cannot be noted is said.
void follow_run(const Context& context, const std::vector<PlacedFiles::Change>& changes);

// For people, a line or "", and for others.
std::string changes_text(const std::vector<PlacedFiles::Change>& changes);
Json changes_json(const std::vector<PlacedFiles::Change>& changes);

}  // namespace sluice

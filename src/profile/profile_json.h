// A profile as JSON: in full for users, and what is kept of it.
#pragma once

#include "base/json_fwd.h"
#include "profile/profile.h"

namespace sluice {

// What `sluice profile --json` prints: every size of the grid from the curves.
Json profile_json(const Profile& profile);

// What is kept: what was measured, not what follows from it. profile_from() fits the curves again; an error
// says what is wrong with a text that is none.
Json kept_json(const Profile& profile);
Result<Profile> profile_from(const Json& kept);

}  // namespace sluice

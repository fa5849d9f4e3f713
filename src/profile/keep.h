// Profiles in the catalog: one a place, the latest.
#pragma once

#include "profile/profile.h"

namespace sluice {

// `location` of the catalog as open_catalog() takes it.
Status keep_profile(const std::string& location, const Profile& profile);
Result<std::optional<Profile>> recall_profile(const std::string& location, const std::string& place_id);

}  // namespace sluice

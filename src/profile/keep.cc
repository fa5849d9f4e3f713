#include "profile/keep.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "profile/profile_json.h"

namespace sluice {

Status keep_profile(const std::string& location, const Profile& profile) {
  SLUICE_TRY(const auto catalog, open_catalog(location, Catalog::Mode::write));
  return catalog->put_profile({.place = profile.id,
                               .taken = static_cast<std::int64_t>(profile.taken),
                               .body = write_json(kept_json(profile))});
}

Result<std::optional<Profile>> recall_profile(const std::string& location, const std::string& place_id) {
  SLUICE_TRY(const auto catalog, open_catalog(location, Catalog::Mode::read));
  if (catalog == nullptr) {
    return std::optional<Profile>();
  }
  SLUICE_TRY(const auto row, catalog->find_profile(place_id));
  if (!row) {
    return std::optional<Profile>();
  }
  SLUICE_TRY(Profile out, profile_from(Json::parse(row->body, nullptr, false)));
  return std::optional(std::move(out));
}

}  // namespace sluice

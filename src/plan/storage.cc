#include "plan/storage.h"

#include <fmt/format.h>

#include "catalog/catalog.h"
#include "places/remember.h"

namespace sluice {
namespace {

// Promised space, and traits of places that do not answer.
Status consult(Catalog& catalog, std::vector<Place>& places) {
  for (Place& place : places) {
    SLUICE_TRY(place.promised, catalog.promised(place.id));
  }
  return recall(catalog, places);
}

}  // namespace

Result<Storage> survey(const Config& config, const StorageOptions& options) {
  SLUICE_TRY(Discovery found, discover(config, options.discover));
  Storage out{.found = std::move(found), .warnings = {}};
  if (!options.discover.system.empty()) {
    return out;
  }
  bool writable = options.remember;
  auto catalog = open_catalog(options.catalog, writable ? Catalog::Mode::write : Catalog::Mode::read);
  if (!catalog && catalog.error().usage) {
    return std::move(catalog).error();  // the location is no location
  }
  if (!catalog && writable) {
    out.warnings.push_back(fmt::format("{}; what was seen is not remembered", catalog.error().text()));
    writable = false;
    catalog = open_catalog(options.catalog, Catalog::Mode::read);
  } else if (!catalog) {
    out.warnings.push_back(
        fmt::format("{}; space promised to earlier placements is not counted", catalog.error().text()));
  }
  if (!catalog || *catalog == nullptr) {
    return out;
  }
  Status status = consult(**catalog, out.found.places);
  if (status && writable) {
    status = remember(**catalog, out.found.places);
  }
  if (!status) {
    out.warnings.push_back(status.error().text());
  }
  return out;
}

}  // namespace sluice

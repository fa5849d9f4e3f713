#include "plan/storage.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/reach.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "places/remember.h"

namespace sluice {
namespace {

// Promised space, and traits of places that do not answer.
Status consult(Catalog& catalog, std::vector<Place>& places) {
  // A promise on one folder takes space from every other place of the same file system.
  std::unordered_map<std::string, std::uint64_t> promised;
  for (const Place& place : places) {
    SLUICE_TRY(const std::uint64_t bytes, catalog.promised(place.id));
    promised[place.volume] += bytes;
  }
  for (Place& place : places) {
    place.promised = promised[place.volume];
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
  const auto where = options.catalog.empty() ? default_catalog_path() : Result<std::string>(options.catalog);
  if (where && !answers(*where, options.discover.timeout)) {
    out.warnings.push_back(fmt::format(
        "the file system of catalog {} does not answer; space promised to earlier placements is not counted",
        quote(*where)));
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
    out.warnings.push_back(fmt::format("{}; {}", status.error().text(),
                                       writable
                                           ? "what was seen is not remembered, or promised space not counted"
                                           : "space promised to earlier placements is not counted"));
  }
  return out;
}

}  // namespace sluice

#include "plan/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <unordered_map>

#include "base/json.h"
#include "base/reach.h"
#include "base/text.h"
#include "places/remember.h"
#include "profile/profile_json.h"

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

// What was measured of the places. A profile that cannot be read, or was taken under other conditions, does
// not count, and that is said.
Status recall_profiles(Catalog& catalog, Storage& storage, bool tell) {
  SLUICE_TRY(const std::vector<std::string> known, catalog.profiles());
  std::vector<std::string> stale;
  std::vector<std::string> again;
  for (const Place& place : storage.found.places) {
    if (place.reach != Reach::reachable || !std::binary_search(known.begin(), known.end(), place.id)) {
      continue;
    }
    SLUICE_TRY(const auto row, catalog.find_profile(place.id));
    auto profile = profile_from(row ? Json::parse(row->body, nullptr, false) : Json());
    Evidence& evidence = storage.profiles[place.id];
    if (!profile) {
      evidence.why_not = fmt::format("its profile cannot be read: {}", profile.error().text());
      if (tell) {
        storage.warnings.push_back(fmt::format(
            "the profile of {0} cannot be read: {1}; its traits are used; run `sluice profile {0}`",
            place.name, profile.error().text()));
      }
      continue;
    }
    const std::string changed = differences(profile->conditions, conditions_of(place));
    if (changed.empty()) {
      evidence.profile = std::move(*profile);
    } else {
      evidence.why_not = fmt::format("its profile is stale: {}", changed);
      stale.push_back(fmt::format("{} ({})", place.name, changed));
      again.push_back(place.name);
    }
  }
  if (!stale.empty() && tell) {
    storage.warnings.push_back(
        fmt::format("what was measured is stale and not used: {}; run `sluice profile {}`", join(stale, ", "),
                    join(again, " ")));
  }
  return {};
}

// What programs took on the places, against what is forecast of them now.
void recall_outcomes(const std::vector<OutcomeRow>& rows, Storage& storage) {
  if (rows.empty()) {
    return;
  }
  std::unordered_map<std::string_view, std::vector<PlaceOutcome>> of;
  for (const Place& place : storage.found.places) {
    of.try_emplace(place.id);
  }
  for (const OutcomeRow& row : rows) {
    const auto place = of.find(row.place);
    auto outcome = place == of.end() ? std::nullopt : outcome_from(row);
    if (outcome) {
      place->second.push_back(std::move(*outcome));
    }
  }
  for (const Place& place : storage.found.places) {
    const std::vector<PlaceOutcome>& known = of[place.id];
    if (known.empty()) {
      continue;
    }
    Evidence& evidence = storage.profiles[place.id];
    evidence.corrections = learn(
        known, [&](const Workload& workload) { return forecast(place, &evidence, workload).uncorrected; },
        std::time(nullptr));
  }
}

Status recall_evidence(Catalog& catalog, const StorageOptions& options, Storage& storage) {
  std::vector<OutcomeRow> rows;
  if (options.corrections) {
    SLUICE_TRY(rows, catalog.outcomes());
  }
  if (options.profiles || !rows.empty()) {  // a profile is what runs are compared with, too
    SLUICE_CHECK(recall_profiles(catalog, storage, options.profiles));
  }
  recall_outcomes(rows, storage);
  return {};
}

}  // namespace

const Evidence* evidence_of(const Storage& storage, const Place& place) {
  const auto known = storage.profiles.find(place.id);
  return known == storage.profiles.end() ? nullptr : &known->second;
}

std::optional<PlaceOutcome> outcome_from(const OutcomeRow& row) {
  constexpr double nanosecond = 1e-9;
  PlaceOutcome out{.run = row.run,
                   .when = row.taken,
                   .workload = {.pattern = row.pattern == "random" ? Pattern::random : Pattern::sequential,
                                .operation = row.operation == "read" ? Operation::read : Operation::write,
                                .request = row.request,
                                .stride = 0,
                                .mode = Mode::direct,
                                .streams = 1,
                                .assumed = {}},
                   .bytes = static_cast<double>(row.bytes),
                   .seconds = static_cast<double>(row.measured) * nanosecond,
                   .modelled = static_cast<double>(row.modelled) * nanosecond,
                   .predicted = static_cast<double>(row.predicted) * nanosecond};
  for (const Mode mode : {Mode::direct, Mode::buffered, Mode::synced}) {
    if (row.mode == print(mode) && (row.operation == "read" || row.operation == "write") && row.request > 0) {
      out.workload.mode = mode;
      return out;
    }
  }
  return std::nullopt;
}

Result<Storage> survey(const Config& config, const StorageOptions& options) {
  SLUICE_TRY(Discovery found, discover(config, options.discover));
  Storage out{.found = std::move(found), .profiles = {}, .warnings = {}};
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
  if (options.profiles || options.corrections) {
    status = recall_evidence(**catalog, options, out);
    if (!status) {
      out.warnings.push_back(fmt::format("{}; what was measured is not used", status.error().text()));
    }
  }
  return out;
}

}  // namespace sluice

#include "cli/corrections.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"

namespace sluice {
namespace {

std::string percent(double error) {
  return error < 100 ? fmt::format("{:.0f} %", error * 100) : fmt::format("x{:.0f}", error + 1);
}

}  // namespace

Json to_json(const Corrections& corrections) {
  Json out = Json::array();
  for (const auto& [kind, correction] : corrections.rows()) {
    const std::uint64_t largest = largest_of(kind);
    out.push_back({{"operation", kind.write ? "write" : "read"},
                   {"io", print(kind.mode)},
                   {"pattern", kind.pattern == Pattern::random ? "random" : "sequential"},
                   {"largest", largest > 0 ? Json(largest) : Json(nullptr)},
                   {"factor", correction.factor},
                   {"spread", correction.spread},
                   {"runs", correction.runs},
                   {"weight", correction.weight}});
  }
  return out;
}

Status forget_corrections(const Context& context, Storage& storage) {
  if (context.options.operands().empty()) {
    return bad_input("--forget needs the places whose corrections are meant",
                     "name them: sluice places --forget root");
  }
  if (!context.options.text("system").empty()) {
    return bad_input("--forget is about the catalog of this machine, and --system about another one",
                     "leave one of them out");
  }
  SLUICE_TRY(const auto catalog, open_catalog(context.options.text("catalog"), Catalog::Mode::write));
  for (const Place& place : storage.found.places) {
    SLUICE_CHECK(catalog->forget_outcomes(place.id));
    if (const auto known = storage.profiles.find(place.id); known != storage.profiles.end()) {
      known->second.corrections = {};
    }
  }
  return {};
}

Result<std::vector<PlaceError>> forecast_errors(Catalog* catalog, const Storage& storage) {
  std::vector<PlaceError> out;
  if (catalog == nullptr) {
    return out;
  }
  SLUICE_TRY(const std::vector<OutcomeRow> rows, catalog->outcomes());
  std::map<std::string, std::vector<PlaceOutcome>> of;
  for (const OutcomeRow& row : rows) {
    if (auto outcome = outcome_from(row)) {
      of[row.place].push_back(std::move(*outcome));
    }
  }
  for (const auto& [id, outcomes] : of) {
    const auto place = std::find_if(storage.found.places.begin(), storage.found.places.end(),
                                    [&wanted = id](const Place& one) { return one.id == wanted; });
    const ForecastError error = error_of(outcomes);
    if (error.runs > 0) {
      out.push_back({.place = place == storage.found.places.end() ? id : place->name, .error = error});
    }
  }
  return out;
}

std::string errors_text(const std::vector<PlaceError>& errors, const Style& style) {
  if (errors.empty()) {
    return {};
  }
  Table table({{.title = "FORECASTS OF", .shrink = Shrink::middle},
               {.title = "RUNS", .align = Align::right},
               {.title = "MEDIAN ERROR", .align = Align::right},
               {.title = "P90", .align = Align::right},
               {.title = "UNCORRECTED", .align = Align::right, .drop = 1}});
  for (const PlaceError& one : errors) {
    table.add({escape(one.place), std::to_string(one.error.runs), percent(one.error.median),
               percent(one.error.p90), percent(one.error.median_uncorrected)});
  }
  return "\n" + table.print(style);
}

Json to_json(const std::vector<PlaceError>& errors) {
  Json out = Json::array();
  for (const PlaceError& one : errors) {
    Json row;
    put_bytes(row, "place", one.place);
    row["runs"] = one.error.runs;
    row["median"] = one.error.median;
    row["p90"] = one.error.p90;
    row["median_uncorrected"] = one.error.median_uncorrected;
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace sluice

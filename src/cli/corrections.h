// What runs have taught of forecasts, as verbs show it.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/terminal.h"
#include "catalog/catalog.h"
#include "cli/verb.h"
#include "plan/storage.h"

namespace sluice {

Json to_json(const Corrections& corrections);

// Of all places in `storage`, in the catalog and there. Places must have been named on the command line.
Status forget_corrections(const Context& context, Storage& storage);

// How far off forecasts were on a place.
struct PlaceError {
  std::string place;  // its name, or its identity where nothing has that any more
  ForecastError error;
};
// By place; none without a catalog (null).
Result<std::vector<PlaceError>> forecast_errors(Catalog* catalog, const Storage& storage);
// A table below a free line; "" where there are none.
std::string errors_text(const std::vector<PlaceError>& errors, const Style& style);
Json to_json(const std::vector<PlaceError>& errors);

}  // namespace sluice

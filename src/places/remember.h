// What the catalog keeps of places between runs.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"
#include "places/place.h"

namespace sluice {

// Writes what was seen of the places that can be reached. Rows that are unchanged and less than an hour old
// are not written again, so that a repeated run writes nothing.
Status remember(Catalog& catalog, std::span<const Place> places);

// Fills what is unknown of places that cannot be reached now from what was remembered of them, their identity
// included.
Status recall(Catalog& catalog, std::vector<Place>& places);

}  // namespace sluice

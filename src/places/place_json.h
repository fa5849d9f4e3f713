// A place as JSON: sizes in bytes, times in seconds, rates in bytes per second. docs/schema/places.json holds
// the form.
#pragma once

#include "base/json_fwd.h"
#include "places/discover.h"
#include "places/place.h"

namespace sluice {

Json to_json(const Place& place);
Json to_json(const Skipped& skipped);
// The whole document: {"places": [...], "skipped": [...]}.

}  // namespace sluice

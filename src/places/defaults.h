// What is assumed of a place while nothing better is known, by what its devices are made of.
#pragma once

#include "places/place.h"

namespace sluice {

// Fills every speed and reliability trait that is still unknown.
void fill_defaults(Place& place);

}  // namespace sluice

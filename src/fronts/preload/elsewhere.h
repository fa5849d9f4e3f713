// Files whose path is a link to data elsewhere (pipeline/moves.h), as calls by name see them. As long as
// there is none, a look at a counter is all that costs.
#pragma once

#include "pipeline/moves.h"

namespace sluice::preload {

// The row of such a file, by the path that is a link to it; null for all others. `again` where that changed
// meanwhile.
AreaMove* elsewhere(int folder, const char* path, bool& again);
AreaMove* elsewhere(int folder, const char* path);

// For an open with these flags, which may not like links: the data's own path where the file was placed, else
// null.
const char* placed_data(int folder, const char* path, int flags);

}  // namespace sluice::preload

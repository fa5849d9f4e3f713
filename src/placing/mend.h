// Finishes or takes back what was interrupted.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "catalog/catalog.h"

namespace sluice {

// By the step that was under way and by what is found: afterwards the data is where it was before the step
// or where it should be after it, and the row says so or is gone. What cannot be told to be a copy is never
// removed, nor is a copy that was changed since. ESTALE: the folder of the path is not the one that it was
// in. EBUSY: somebody has open what would be removed. REQUIRES: the lock of the placement.
Status mend(Catalog& catalog, const PlacementRow& row);

// Whether Sluice itself could have written the row: `aside` is a name that it would give, and the target lies
// in this user's own folder on a place. What a row says is done, files are replaced and removed by it.
Status check_row(const PlacementRow& row);

// Nothing at its path leads to the data any more: that goes, and the row. Nothing is done where something
// does, or where a step is under way; ESTALE where that cannot be told. REQUIRES: the lock of the placement.
Status forget_unlinked(Catalog& catalog, const PlacementRow& row);

// All that nobody works on any more; what could not be mended, a sentence each. Folders that do not answer
// within the time are not touched.
Result<std::vector<std::string>> mend_all(Catalog& catalog, Duration patience);

}  // namespace sluice

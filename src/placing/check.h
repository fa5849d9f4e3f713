// What a path must be to be placed. Each refusal says what to do; nothing is changed by any of them.
#pragma once

#include <string>

#include "catalog/catalog.h"
#include "places/discover.h"
#include "placing/spot.h"
#include "plan/plan.h"

namespace sluice {

// Its folder can take a link.
Status check_folder(const Spot& spot);
// It has no placement, nor has anything below it. One that was interrupted is mended first. REQUIRES: the
// lock of its placement.
Status check_unplaced(Catalog& catalog, const Spot& spot);
// What is there can be moved: a plain file or folder, which is no mount point and has none below.
Status check_data(const Spot& spot, const struct stat& there);
// The plan's choice; ENOSPC with the reason of every place where there is none. Of `global` data the link has
// to be where others see it: it tells them what was chosen.
Result<const Place*> chosen_place(const Discovery& found, const Plan& plan, const std::string& path);

}  // namespace sluice

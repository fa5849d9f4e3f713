// The catalog follows what a program did with the names of placed files, where somebody saw it.
#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"

namespace sluice {

// Those that are files, or will be, and whose link is at their path as far as the catalog knows.
Result<std::vector<PlacementRow>> placed_files(Catalog& catalog);

// A file was removed or replaced, with its data: what is left of its placement goes. Where that is not so,
// nothing is done, and `sluice status` says what there is. EAGAIN: another command works on the path.
Status follow_removal(Catalog& catalog, const std::string& path);
// A link has another path. EEXIST: that is placed, too.
Status follow_rename(Catalog& catalog, const std::string& from, const std::string& to);

}  // namespace sluice

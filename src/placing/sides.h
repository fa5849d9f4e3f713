// Two copies of the same data, one of which is to go: whether anybody has changed it meanwhile.
#pragma once

#include <string>

#include "base/result.h"
#include "catalog/catalog.h"
#include "placing/spot.h"

namespace sluice {

// What is to be done with the one that was copied.
enum class OldFate {
  remove,  // the copy has all of it
  take,    // it was written to and the copy was not: it is the file again
  keep,    // both may have something that the other has not
};

// Of a row in the states linking and landing; EBUSY where somebody has it open, or would have the copy when
// that goes. A file is told by size, time and checksum of the row, a folder by what is in it and not in the
// copy, entry by entry.
Result<OldFate> fate_of_old(const PlacementRow& row, const Spot& old, const std::string& old_name,
                            const Spot& copy, const std::string& copy_name);

// Gives it a name that says what it is, beside the one it has, and tells the user.
Status keep_old(const PlacementRow& row, const Spot& old, const std::string& old_name,
                const std::string& name);
inline constexpr std::string_view kept_end = ".sluice-kept";

}  // namespace sluice

// What moving data to a place and back have in common.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "catalog/catalog.h"
#include "move/tree.h"
#include "placing/spot.h"

namespace sluice {

// A name beside another that nobody else uses: ".out.dat.sluice-1a2b3c4d"
std::string aside_name(const std::string& name);

// Tries again while `attempt` says ECANCELED, because somebody came to write, and then for a while as long as
// it says EBUSY, because he is still there.
Status until_undisturbed(const std::function<Status()>& attempt);

// Two names of the folder change places, at once.
Status swap_names(const Spot& spot, const std::string& other);

// PlacementRow::facts: which file it is that has or had a name.
std::string facts_of(const struct stat& about);
bool is_meant(const PlacementRow& row, const struct stat& about);

// Writes the row with its next state.
Status journal(Catalog& catalog, PlacementRow& row, std::string_view state);

// What is there already is not free any more; only what is still to come counts as promised.
std::uint64_t still_promised(std::uint64_t promised, std::uint64_t size);

// In which a lookup that has begun reaches the file.
void wait_for_lookups();

}  // namespace sluice

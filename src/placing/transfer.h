// What moving data to a place and back have in common.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "catalog/catalog.h"
#include "move/tree.h"
#include "placing/spot.h"

namespace sluice {

// A name beside another that nobody else uses.
std::string aside_name(const std::string& name);
// The name that such a one was made for, the beginning of it; nothing where it is none.
std::optional<std::string> name_of_aside(std::string_view aside);

// Tries again while `attempt` says ECANCELED, because somebody came to write, and then for a while as long as
// it says EBUSY, because he is still there.
Status until_undisturbed(const std::function<Status()>& attempt);

// Two names of the folder change places, at once.
Status swap_names(const Spot& spot, const std::string& other);
// Whether that can be done in the folder at all, tried with two links: to be known before much is copied. The
// row has `aside`, and is returning or adopting; mend() removes what is left of it, by remove_tried().
Status try_exchange(const Spot& spot, const PlacementRow& row);
void remove_tried(const Spot& spot, const PlacementRow& row);

// PlacementRow::facts: which file it is that has or had a name, and when it was last written. It is known by
// its inode, because a device may have another number after a reboot. REQUIRES: the folder is the one that it
// was in (doubt_of()).
std::string facts_of(const struct stat& about);
bool is_meant(const PlacementRow& row, const struct stat& about);
// How the time of the last change compares with that of the facts: < 0 older, 0 the same or not known.
int compare_time(const PlacementRow& row, const struct stat& about);

// Writes the row with its next state. What begins to return belongs from then on to the folder that is at the
// path now, whichever it was in before.
Status journal(Catalog& catalog, PlacementRow& row, std::string_view state);

// What is there already is not free any more; only what is still to come counts as promised.
std::uint64_t still_promised(std::uint64_t promised, std::uint64_t size);

// In which a lookup that has begun reaches the file.
void wait_for_lookups();

}  // namespace sluice

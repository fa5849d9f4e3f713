// How much the time of a family's calls changes by where its files are and how its requests are made. Pure.
#pragma once

#include "tune/candidate.h"

namespace sluice {

// The seconds of its calls on a place, with what it would be on any; `merged` = its writes are made in
// blocks. Nothing where the model has no number for it.
std::optional<Expected> io_on(const FileLoad& load, const Place& place, const Profiles& profiles,
                              bool merged);
// To bring its bytes from one place to the other.
Expected way_home(const FileLoad& load, const Place& there, const Place& home, const Profiles& profiles);

}  // namespace sluice

// Brings placed data back to the path that the user wanted it at.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "catalog/catalog.h"
#include "move/home.h"

namespace sluice {

struct Returned {
  enum class Outcome {
    home,     // the data is at its path, and gone from the place
    nothing,  // it was never created: the link is gone
    lost,     // it is gone from its place, which is there: so is the link
    kept,     // the path is not our link any more; the data stays on the place
  };
  Outcome outcome = Outcome::home;
  std::string path;
  std::string why;  // of kept
  std::uint64_t bytes = 0;
};

// What to do where somebody removed the link.
enum class WithoutLink { keep, restore };

// Whether the place of that id is there, so that what is not on it is nowhere.
using IsThere = std::function<bool(const std::string&)>;

// Copies beside the link, syncs, compares, takes the link's place at once and removes the source. An error
// leaves the data where it was: EBUSY with who has it open, ENOSPC before anything is copied, EAGAIN where
// another command works on it.
Result<Returned> bring_back(Catalog& catalog, const std::string& path, WithoutLink without,
                            const IsThere& is_there, const GoOn& go_on);

}  // namespace sluice

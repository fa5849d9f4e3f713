// What is placed where, whether it is safe there, what is owed and what was left over.
#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "plan/storage.h"

namespace sluice {

// One placement as it is found.
struct Standing {
  PlacementRow row;   // with its size as it is now, where that can be told
  std::string place;  // its name, or its id where nothing has that any more
  std::string link;   // there, removed, replaced, or "renamed to X" in the same folder; "" = cannot be told
  std::string doubt;  // why it cannot
  bool box = false;   // its folder on the place is there
  bool lost = false;  // it is not, surely, and what was in it is gone
  bool data = false;  // something is at the target
  std::vector<std::string> broken;  // which constraints its place does not keep, and why
  std::string trouble;              // "" = none
  std::string mend;                 // the command for it
  bool orphan = false;              // data that nothing leads to

  // On a place that is there and keeps its constraints.
  [[nodiscard]] bool safe() const { return broken.empty() && trouble.empty(); }
};

// Something in a folder of ours that the catalog does not know.
struct Leftover {
  std::string path;
  std::string belongs;  // the path that it was placed for, "" = not known
  std::string place;    // Place::id
  std::uint64_t size = 0;
  bool linked = false;  // that path still leads to it
  bool loose = false;   // nothing does, surely
  std::string what;
  std::string mend;
};

struct Standings {
  std::vector<Standing> placed;
  std::vector<Leftover> leftover;
};

// `catalog` may be null: there is none yet. Places that do not answer within the time are not touched.
Result<Standings> look_at_placements(Catalog* catalog, const Storage& storage, Duration patience);

// Finishes what was interrupted, removes orphans and leftovers of ours that surely nothing leads to, and
// gives what is linked but forgotten its row again. What was done and what could not be, a sentence each.
Result<std::vector<std::string>> clean_up(Catalog& catalog, const Storage& storage, Duration patience);

}  // namespace sluice

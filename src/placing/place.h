// Puts data on the place that suits its intent and leaves a link at the path that the user typed, so that
// every program finds it there.
//
// Every step has its row in the catalog before it is done: whatever is killed, the next command finishes it
// or takes it back (mend.h). No step follows a link that another user could have planted. The catalog must
// be open for writing. From one thread at a time for one catalog object; any number of processes at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "catalog/catalog.h"
#include "intent/intent.h"
#include "move/home.h"
#include "places/discover.h"
#include "plan/plan.h"

namespace sluice {

struct Placed {
  std::string path;    // as the catalog has it: absolute, the folders above it without links
  std::string target;  // where the data is, or will be; the path itself where that is the best place already
  std::string place;   // Place::id of the target
  [[nodiscard]] bool elsewhere() const { return target != path; }
};

// What the catalog calls the path: absolute, with the links of the folders above it resolved. Fails where the
// folder is missing.
Result<std::string> placing_path(const std::string& typed);

// The intent as a placement of that path has to keep it: `persist`, where the path is on storage that
// survives a reboot and the intent does not say `temp`; at least `bytes` of totalsize.
Intent placing_intent(const Discovery& found, const std::string& path, const Intent& intent,
                      std::uint64_t bytes = 0);

// For a file that a program will create (or, with `folder`, a folder that is made empty). Makes a folder of
// this user's own on the chosen place, mode 0700, and the link. The file itself is not created: whoever opens
// the path with O_CREAT makes it, through the link. The plan is for placing_intent().
//
// EEXIST: something is at the path, or it is placed already. ENOENT: its folder is missing. EROFS, EPERM: as
// they say. ENOSPC with the plan's reasons: no place can take it. EAGAIN: another command works on the path.
// Nothing was changed then.
Result<Placed> place_new(Catalog& catalog, const Discovery& found, const Plan& plan, const std::string& path,
                         bool folder = false);

// For a file or folder that is there: its data is copied to the chosen place, synced and compared, and then
// the link takes its path at once. As place_new(), and: EBUSY with who has it open; somebody who opens it for
// writing meanwhile makes it begin again. The plan is for placing_intent() with its size (data_size()).
Result<Placed> adopt(Catalog& catalog, const Discovery& found, const Plan& plan, const std::string& path,
                     const GoOn& go_on);
// How much is there; nothing where nothing is. Refuses what cannot be adopted.
Result<std::optional<std::uint64_t>> data_size(const std::string& path);

// What the catalog has of the path, and whose link is still there; nothing otherwise. One query, no planning.
Result<std::optional<Placed>> find_placed(Catalog& catalog, const std::string& path);

}  // namespace sluice

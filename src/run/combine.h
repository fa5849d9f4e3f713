// Brings the parts of files together that several processes of a run wrote (pipeline/parts.h).
//
// In its place: the file stays the one that it is, with its owner, mode, names, and those who have it open.
// What was written of it when somebody is killed is written once more by whoever comes next: parts and logs
// are there until all is done.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/sys.h"
#include "pipeline/parts.h"
#include "run/recover.h"

namespace sluice {

enum class When {
  runs,   // files whose parts are all closed, and those that somebody waits for
  ended,  // all: nobody will close one any more
  left    // and there was no keeper for a while: only into files that nobody changed since, else beside them
};

// Files of which processes that live have parts open.
std::vector<Recovered> list_open_parts(Area& area);

// Those that could not be brought together, and with `tell_all` the others as well. `held` gives the
// descriptor of a whole, by row and generation, or null; it is closed when the whole is together, before
// anybody is told: a file that somebody has open for writing cannot be run.
using HeldWhole = std::function<UniqueFd*(std::uint32_t, std::uint32_t)>;
std::vector<Recovered> combine_parts(Area& area, const HeldWhole& held, When when, bool tell_all);

// The same from what lies in a folder, where the memory of the run is gone: all that was synced.
std::vector<Recovered> combine_logs(const std::string& folder, bool look_only);

}  // namespace sluice

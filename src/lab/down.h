// Takes a lab down: every mount, loop device, process, namespace and file, whatever state it is in.
#pragma once

#include "base/json_fwd.h"
#include "lab/folder.h"

namespace sluice::lab {

// The whole lab, or one member of it. Tells what was removed: "members", "mounts", "loops", and under "busy"
// the mounts and loop devices that somebody still uses and that will go when they stop. Nothing there is no
// error.
// REQUIRES: the lab's lock; it is kept, though its file is gone with the lab.
Result<Json> take_down(const std::string& lab, const std::string& only = {});

}  // namespace sluice::lab

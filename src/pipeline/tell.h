// How a process of a run tells its keeper something.
#pragma once

#include "pipeline/area.h"

namespace sluice {

bool keeper_lives(const Area& area);
// With a descriptor, or -1. False where nobody listens.
bool tell_keeper(const Area& area, const KeeperMessage& message, int passed);

}  // namespace sluice

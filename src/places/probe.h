// Asks mounts how they are, without ever touching one from this process: a mount whose server is gone keeps
// whoever touches it in uninterruptible sleep, and a process with such a thread cannot even exit.
#pragma once

#include <span>
#include <vector>

#include "base/units.h"
#include "places/machine.h"

namespace sluice {

// One answer for each question, in order, within the timeout. May be called from any thread.
std::vector<Answer> probe_mounts(std::span<const Question> questions, Duration timeout,
                                 const Waiting& waiting = {});

}  // namespace sluice

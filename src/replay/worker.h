// Runs strands: the processes and threads that do the operations of a trace again, by plain calls of libc, so
// that stages see them as any program's. In a program of its own, `sluice-replay`, which has nothing else in
// it.
#pragma once

#include "replay/script.h"

namespace sluice {

// Runs the first strand and all that it starts. The current folder is where the files are. Returns when all
// of them have ended: what the program exits with.
int run_strands(Script& script);

}  // namespace sluice

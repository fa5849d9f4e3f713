// Descriptors that stand in for files which are in memory alone, and how they get the real ones. Bare system
// calls throughout.
#pragma once

#include <sys/stat.h>

#include "pipeline/area.h"

namespace sluice {

// A new one, the lowest that is free; -1 where there is none. Nothing can be written to it or read from it.
int take_standin(bool close_on_exec);
// Whether that was said of one.
bool is_standin(const struct stat& found);
// The descriptor of a file that the keeper has lent; -1 and errno. REQUIRES: its lock.
int fetch_lent(const Area& area, Pending& file);
// A line on standard error: somebody else has made a file of the same name.
void say_beside(const char* path, const char* name);

}  // namespace sluice

// Files that are in the memory of the run alone (pipeline/pending.h): whoever looks for one by its name makes
// it a file first. As long as there is none, a look at a counter is all that costs.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

namespace sluice::preload {

// The one that a path names, where it does.
void put_down_name(int folder, const char* path);
// The same for who only wants to know what is said of it: true where that is told already.
bool describe_name(int folder, const char* path, struct stat& out);
// All of them, before something that looks at a whole folder, or in ways that are not seen.
void put_down_all();
// The same of a file that is about to be removed: true where it is gone already.
bool drop_name(int folder, const char* path);
// As openat(), of whatever is at that path.
int open_native(int folder, const char* path, int flags, mode_t mode);

}  // namespace sluice::preload

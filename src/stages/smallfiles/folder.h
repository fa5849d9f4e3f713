// What a process remembers of folders in which it makes files, so that a file costs few looks at them. Bare
// system calls throughout.
#pragma once

#include <sys/stat.h>

#include "pipeline/area.h"

namespace sluice {

// Whether files that are made in it are as we would say they are. The keeper gets it, under whatever name it
// may be later. `found` is what is said of it now.
bool is_good_folder(const Area& area, const char* path, const struct stat& found);
// What tells it from another that gets its number later, also where its device has another one; 0 where that
// is not known. REQUIRES: it is a good one.
struct FolderPrint {
  std::uint64_t handle = 0;
  std::uint64_t filesystem = 0;
};
FolderPrint print_of_folder(const struct stat& found);
// Whether nothing is in it: that was seen, and it has not changed since. REQUIRES: it is a good one.
bool is_known_empty(const char* path, const struct stat& found);

}  // namespace sluice

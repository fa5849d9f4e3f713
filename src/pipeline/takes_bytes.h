// For stages that keep a program from its files: what it does to names is done for real, and must not take
// away what they keep.
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sluice/stage.h"

namespace sluice {

// Whether a file that has bytes loses a name, by being removed or by being replaced.
inline bool takes_bytes(const sluice_activity& activity) {
  const bool removes = activity.operation == SLUICE_REMOVE && (activity.flags & AT_REMOVEDIR) == 0;
  const bool replaces = activity.operation == SLUICE_RENAME &&
                        (static_cast<unsigned>(activity.flags) & (RENAME_NOREPLACE | RENAME_EXCHANGE)) == 0;
  const char* path = removes ? activity.path : replaces ? activity.target : nullptr;
  struct stat found {};
  // What cannot replace anything the kernel refuses.
  if (replaces && (syscall(SYS_newfstatat, AT_FDCWD, activity.path, &found, AT_SYMLINK_NOFOLLOW) != 0 ||
                   S_ISDIR(found.st_mode))) {
    return false;
  }
  return path != nullptr && syscall(SYS_newfstatat, AT_FDCWD, path, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(found.st_mode) && found.st_size > 0;
}

}  // namespace sluice

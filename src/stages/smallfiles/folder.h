// What a process remembers of folders in which it makes files, so that a file costs few looks at them. Bare
// system calls throughout.
#pragma once

#include <sys/stat.h>

#include "pipeline/area.h"

namespace sluice {

struct FolderPath {
  explicit FolderPath(const char* path) : text(path), hash(path_hash(path)) {}
  const char* text;
  std::uint64_t hash;
};

// What the folder of a path was the last time that it was a good one; nothing where that is not known. It is
// a guess: who goes by it looks afterwards whether the folder is_known().
FolderId remembered_folder(const Area& area, const FolderPath& path);
void forget_folder(const FolderPath& path);
// Whether a folder is the one that is remembered, and as it was. `found` is what is said of it now.
bool is_known(const Area& area, const FolderPath& path, const struct stat& found);
// Whether files that are made in it are as we would say they are. The keeper gets it, under whatever name it
// may be later. It is remembered then.
bool is_good_folder(const Area& area, const FolderPath& path, const struct stat& found);
// What tells it from another that gets its number later, also where its device has another one; 0 where that
// is not known. REQUIRES: it is a good one.
struct FolderPrint {
  std::uint64_t handle = 0;
  std::uint64_t filesystem = 0;
};
FolderPrint print_of_folder(const FolderPath& path, const struct stat& found);
// Whether nothing is in it: that was seen, and it has not changed since. REQUIRES: it is a good one.
bool is_known_empty(const FolderPath& path, const struct stat& found);

}  // namespace sluice

// Paths as text, without allocation.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <string_view>

#include "pipeline/path_room.h"

namespace sluice::preload {

inline constexpr std::size_t longest_path = PathRoom::size;

// A path as the program gave it, absolute and without "." and "..". False where that cannot be told. Leaves
// errno alone.
bool absolute_path(int folder, const char* path, char (&out)[longest_path]);
// What the kernel says of it, past every stage.
inline int stat_by(int folder, const char* path, void* out, int flags) {
  return static_cast<int>(syscall(SYS_newfstatat, folder, path, out, flags));
}
// False where it becomes too long.
bool append(char (&path)[longest_path], std::string_view more);

}  // namespace sluice::preload

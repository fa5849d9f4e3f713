#include "fronts/preload/paths.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace sluice::preload {
namespace {

// The folder that a path is relative to; its length, or 0 where that cannot be told.
std::size_t folder_text(int folder, char* out, std::size_t size) {
  if (folder == AT_FDCWD) {
    const long length = syscall(SYS_getcwd, out, size);
    return length > 1 && out[0] == '/' ? static_cast<std::size_t>(length) - 1 : 0;
  }
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
  const ssize_t length = readlink(link, out, size);
  return length > 0 && out[0] == '/' && static_cast<std::size_t>(length) < size
             ? static_cast<std::size_t>(length)
             : 0;
}

// As text, absolute, without empty, "." and ".." components. False where it is too long
// or cannot be told.
bool absolute_text(int folder, const char* path, char (&out)[longest_path]) {
  std::size_t size = 0;
  if (path[0] != '/') {
    size = folder_text(folder, out, longest_path);
    if (size == 0) {
      return false;
    }
    size = size == 1 ? 0 : size;  // the root ends in '/'
  }
  for (const char* rest = path; *rest != 0;) {
    const std::size_t length = std::strcspn(rest, "/");
    const std::string_view part(rest, length);
    rest += length + (rest[length] == '/' ? 1 : 0);
    if (part.empty() || part == ".") {
      continue;
    }
    if (part == "..") {
      while (size > 0 && out[--size] != '/') {
      }
      continue;
    }
    if (size + 1 + length >= longest_path) {
      return false;
    }
    out[size++] = '/';
    std::memcpy(out + size, part.data(), length);
    size += length;
  }
  out[size] = 0;
  return size > 0;
}

}  // namespace

bool absolute_path(int folder, const char* path, char (&out)[longest_path]) {
  const int saved = errno;
  const bool told = path != nullptr && absolute_text(folder, path, out);
  errno = saved;
  return told;
}

bool append(char (&path)[longest_path], std::string_view more) {
  const std::size_t size = std::strlen(path);
  if (size + more.size() >= longest_path) {
    return false;
  }
  std::memcpy(path + size, more.data(), more.size());
  path[size + more.size()] = 0;
  return true;
}

}  // namespace sluice::preload

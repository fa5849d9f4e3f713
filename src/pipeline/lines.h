// A file of /proc, line by line: without allocation, and with little of the stack.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "pipeline/path_room.h"

namespace sluice {

enum class Lines : unsigned char { none, some, unread };

// Whether a line is what is looked for. Of one that is longer than a path can be, the rest counts as another.
template <class Is>
Lines find_line(const char* path, Is is) {
  const PathRoom room;
  const auto fd = !room ? -1 : static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
  if (fd < 0) {
    return Lines::unread;
  }
  char* text = room.text();
  std::size_t kept = 0;  // of a line whose end has not been read
  bool found = false;
  long got = 0;
  while (!found && (got = syscall(SYS_read, fd, text + kept, PathRoom::size - 1 - kept)) > 0) {
    const std::size_t size = kept + static_cast<std::size_t>(got);
    text[size] = 0;
    char* line = text;
    for (char* end = nullptr; !found && (end = std::strchr(line, '\n')) != nullptr; line = end + 1) {
      *end = 0;
      found = is(static_cast<const char*>(line));
    }
    kept = size - static_cast<std::size_t>(line - text);
    if (kept == PathRoom::size - 1) {
      found = is(static_cast<const char*>(text));
      kept = 0;
    }
    std::memmove(text, line, kept);
  }
  syscall(SYS_close, fd);
  return found ? Lines::some : got < 0 ? Lines::unread : Lines::none;
}

}  // namespace sluice

#include "pipeline/moves.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "pipeline/area.h"
#include "pipeline/path_room.h"

namespace sluice {
namespace {

constexpr std::uint32_t most_probes = 64;

AreaMove& row_at(Area& area, std::uint64_t first, std::uint32_t probe) {
  return area.all_moves()[(first + probe) & (area_moves - 1)];
}

}  // namespace

bool real_path(int folder, const char* path, char (&out)[sizeof(AreaMove::path)]) {
  std::string_view above(path == nullptr ? "" : path);
  while (above.ends_with('/')) {
    above.remove_suffix(1);
  }
  const std::string_view name = above.substr(above.rfind('/') + 1);
  above.remove_suffix(name.size());
  const PathRoom room;
  if (!room || name.empty() || name == "." || name == ".." || above.size() + 2 > PathRoom::size) {
    return false;
  }
  char* text = room.text();
  const int saved = errno;
  std::snprintf(text, PathRoom::size, "%.*s.", static_cast<int>(above.size()), above.data());
  const auto fd = static_cast<int>(syscall(SYS_openat, folder, text, O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::snprintf(text, PathRoom::size, "/proc/self/fd/%d", fd);
  long size = fd < 0 ? -1 : syscall(SYS_readlinkat, AT_FDCWD, text, out, sizeof out);
  if (fd >= 0) {
    syscall(SYS_close, fd);
  }
  errno = saved;
  size = size == 1 ? 0 : size;  // the root ends in '/'
  if (size < 0 || (size > 0 && out[0] != '/') ||
      static_cast<std::size_t>(size) + name.size() + 2 > sizeof out) {
    return false;
  }
  out[size] = '/';
  std::memcpy(out + size + 1, name.data(), name.size());
  out[static_cast<std::size_t>(size) + 1 + name.size()] = 0;
  return true;
}

AreaMove* new_move(Area& area, std::string_view path, std::string_view data) {
  if (area.moves == 0 || path.size() >= sizeof(AreaMove::path) || data.size() >= sizeof(AreaMove::data)) {
    return nullptr;
  }
  const std::uint64_t first = path_hash(path);
  for (std::uint32_t i = 0; i < most_probes; ++i) {
    AreaMove& row = row_at(area, first, i);
    std::uint32_t state = row.state.load(std::memory_order_relaxed);
    if ((state != AreaMove::unused && state != AreaMove::home) ||
        !row.state.compare_exchange_strong(state, AreaMove::being_made)) {
      continue;
    }
    row.flags = 0;
    std::memcpy(row.path.data(), path.data(), path.size());
    row.path[path.size()] = 0;
    std::memcpy(row.data.data(), data.data(), data.size());
    row.data[data.size()] = 0;
    area.moves_live.fetch_add(1);
    return &row;
  }
  return nullptr;
}

AreaMove* move_of(Area& area, std::string_view path) {
  if (area.moves_live.load(std::memory_order_relaxed) == 0) {
    return nullptr;
  }
  const std::uint64_t first = path_hash(path);
  for (std::uint32_t i = 0; i < most_probes; ++i) {
    AreaMove& row = row_at(area, first, i);
    std::uint32_t state = row.state.load(std::memory_order_acquire);
    if (state == AreaMove::unused) {
      return nullptr;
    }
    if (state < AreaMove::there || state > AreaMove::landing || path != row.path.data()) {
      continue;
    }
    for (int naps = 0; state == AreaMove::landing && naps < 10000; ++naps) {
      const timespec nap{.tv_sec = 0, .tv_nsec = 100000};
      syscall(SYS_nanosleep, &nap, nullptr);
      state = row.state.load(std::memory_order_acquire);
    }
    return is_elsewhere(row) ? &row : nullptr;
  }
  return nullptr;
}

void end_move(Area& area, AreaMove& move) {
  const std::uint32_t before = move.state.exchange(AreaMove::home);
  if (before == AreaMove::home || before == AreaMove::unused) {
    return;
  }
  area.moves_live.fetch_sub(1);
}

bool claim(AreaMove& move) {
  std::uint32_t state = move.state.load();
  while (state == AreaMove::there || state == AreaMove::moving) {
    if (move.state.compare_exchange_weak(state, AreaMove::being_made)) {
      return true;
    }
  }
  return false;
}

bool link_to(const AreaMove& move) {
  return syscall(SYS_symlinkat, move.data.data(), AT_FDCWD, move.path.data()) == 0;
}

}  // namespace sluice

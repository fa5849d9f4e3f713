// Files that are elsewhere while a program runs, by the path that the program knows. All processes of a run
// share the table, without locks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

namespace sluice {

struct AreaMove {
  enum State : std::uint32_t {
    unused,
    being_made,
    there,    // the data is elsewhere
    moving,   // the same, and somebody is about to bring it home
    landing,  // it is put in its place just now
    home      // it is where it belongs, or gone
  };
  enum Flag : std::uint32_t {
    closed = 1,  // nobody is known to have it open
    synced = 2   // the program was told that it is safe
  };
  std::atomic<std::uint32_t> state = unused;
  std::atomic<std::uint32_t> flags = 0;
  std::array<char, 760> path = {};
  std::array<char, 256> data = {};
};
static_assert(sizeof(AreaMove) == 1024);
inline constexpr std::uint32_t area_moves = 8192;  // a power of two

struct Area;

// The path by which a file is known here: that of its folder, whatever links lead there, and its name. False
// where the path does not end in a name, or its folder cannot be told.
bool real_path(int folder, const char* path, char (&out)[sizeof(AreaMove::path)]);

// `path` is a real one, here and below.
// A row for a file whose data will be there, in state being_made; null where there is no room, or a path is
// too long.
AreaMove* new_move(Area& area, std::string_view path, std::string_view data);
// The one that is elsewhere now; waits while it lands.
AreaMove* move_of(Area& area, std::string_view path);
// Whether the data is elsewhere.
inline bool is_elsewhere(const AreaMove& move) {
  const std::uint32_t state = move.state.load(std::memory_order_acquire);
  return state == AreaMove::there || state == AreaMove::moving;
}
// A row is done with; a second time it is no matter.
void end_move(Area& area, AreaMove& move);
// Its path becomes a link to its data. False where that cannot be.
bool link_to(const AreaMove& move);
// Takes a row for oneself: nobody finds it, and whoever was about to bring it home lets it be. False where it
// is nobody's any more.
bool claim(AreaMove& move);

}  // namespace sluice

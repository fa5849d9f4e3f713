// The ways of access that a profile tells apart: past the page cache; the same in long passes of writes with
// a flush at the end, so that no cache of the device holds them; through the page cache; through it with
// every request flushed. Reads and writes; sequential and random. Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace sluice {

enum class Mode { direct, buffered, synced, sustained };
std::string_view print(Mode mode);  // "direct", "buffered", "synced", "sustained"

struct Access {
  Mode mode = Mode::direct;
  bool write = false;
  bool random = false;

  bool operator==(const Access&) const = default;
};

// Every access that is measured. Reads cannot be flushed: a synced or sustained read is a direct one.
inline constexpr std::array accesses = {
    Access{Mode::direct, false, false},   Access{Mode::direct, false, true},
    Access{Mode::direct, true, false},    Access{Mode::direct, true, true},
    Access{Mode::sustained, true, false}, Access{Mode::sustained, true, true},
    Access{Mode::synced, true, false},    Access{Mode::synced, true, true},
    Access{Mode::buffered, false, false}, Access{Mode::buffered, false, true},
    Access{Mode::buffered, true, false},  Access{Mode::buffered, true, true},
};
inline constexpr std::size_t access_count = accesses.size();
inline constexpr std::size_t direct_count = 4;      // the first ones
inline constexpr std::size_t past_cache_count = 6;  // those and the sustained ones

constexpr std::size_t index_of(Access access) {
  if ((access.mode == Mode::synced || access.mode == Mode::sustained) && !access.write) {
    access.mode = Mode::direct;
  }
  for (std::size_t i = 0; i < access_count; ++i) {
    if (accesses[i] == access) {
      return i;
    }
  }
  return 0;
}

// "direct random read"
std::string print(const Access& access);

}  // namespace sluice

// What is noted of a file that is brought home, where it outlives whoever does that: by it the next one can
// tell what is there, and end the work.
#pragma once

#include <cstdint>

namespace sluice {

struct Landing {
  std::uint64_t device = 0;  // of the file that takes the place, from when it is about to
  std::uint64_t inode = 0;
  std::int64_t changed = 0;  // ctime of the data then, in nanoseconds
  std::uint32_t temporary =
      0;  // what the name of the copy ends in, before it takes the place; 0 = there is none
  std::uint32_t landed = 0;  // 1 = it has taken the place: data that was not changed since is not needed
};

}  // namespace sluice

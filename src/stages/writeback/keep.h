// How a buffer comes to keep something back, and how that gets into the file. Bare system calls throughout:
// in a program these are Sluice's own, which pass no stage.
#pragma once

#include <cstdint>

#include "pipeline/area.h"
#include "pipeline/process.h"
#include "sluice/stage.h"

namespace sluice::writeback {

struct Settings {
  Level level = Level::strict;
  std::int64_t block = 0;                         // writes end at multiples of it; 0 = as the place likes it
  std::int64_t large = std::int64_t{128} * 1024;  // as it is, from here on
  std::int64_t after = 16;                        // so many small writes first
};

// REQUIRES of all below: the lock of the buffer, or that nobody else knows of it.

// Gives it memory, and whatever its level needs; false where nothing may be kept back now. It may have been
// retired then.
bool engage(Area& area, Buffer& buffer, const Settings& settings, int fd);
// From here on `offset` is the first byte kept back. False where it is better to write at once. REQUIRES: it
// has a block and nothing in it.
bool begin_extent(Area& area, Buffer& buffer, int fd, std::uint64_t offset);
// What is kept back is written by the stages below. 0, or errno, and then it is still there.
struct Written {
  int error = 0;
  std::uint64_t bytes = 0;  // so many were, from the first on
};
Written flush_some(Area& area, Buffer& buffer, const sluice_activity& about, const sluice_next* next);
inline int flush(Area& area, Buffer& buffer, const sluice_activity& about, const sluice_next* next) {
  return flush_some(area, buffer, about, next).error;
}
// The same, and nothing else changes: for who comes in the middle of something.
Written write_copy(Area& area, const Buffer& buffer, const sluice_activity& about, const sluice_next* next);
// The file was changed by ourselves while something is kept back of it: it stands as it is now, where it was
// changed by nobody else before.
void stamp_again(Buffer& buffer, int fd, bool ours);
// The kernel's position of the file is right again. 0, or errno, and then ours counts on.
int hand_position_back(Buffer& buffer, const sluice_activity& about, const sluice_next* next);
// No block and no lease any more. REQUIRES: nothing is kept back. `fd` may be -1.
void disengage(Area& area, Buffer& buffer, int fd);

}  // namespace sluice::writeback

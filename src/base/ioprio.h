// The priority of a process's I/O. Not by <linux/ioprio.h>: that of Debian 12's later updates has a parameter
// called `class`, which no C++ compiler takes.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

namespace sluice {

enum class IoClass : int { none = 0, realtime = 1, best_effort = 2, idle = 3 };

inline constexpr int this_process_io = 1;  // IOPRIO_WHO_PROCESS
inline constexpr int io_class_shift = 13;

// Of this thread; whether the kernel allows it. Level 0 is the highest, 7 the lowest.
inline bool set_io_priority(IoClass io_class, int level = 0) {
  return syscall(SYS_ioprio_set, this_process_io, 0, static_cast<int>(io_class) << io_class_shift | level) ==
         0;
}

// Of this thread; none where the kernel does not say.
inline IoClass io_class() {
  const long value = syscall(SYS_ioprio_get, this_process_io, 0);
  return value < 0 ? IoClass::none : static_cast<IoClass>((value >> io_class_shift) & 7);
}

}  // namespace sluice

// Hints that a program gives the kernel of its files: it gets them, and the stages hear of them.
//
// Any thread, also signal handlers.
#pragma once

namespace sluice::preload {

// The class that ioprio_set() gave this process, told to the stages of a file that it opened. The kernel is
// asked once.
void hear_priority(int fd);
// In a child, which may get another.
void forget_priority();
// A command of fcntl() about how long data lives, and what came of it.
void hear_lifetime(int fd, int command, const void* argument, int result);

}  // namespace sluice::preload

// A thread of ours beside the program: signals are for the one that waits for it.
#pragma once

#include <signal.h>

namespace sluice {

inline void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace sluice

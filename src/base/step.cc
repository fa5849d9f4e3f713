#include "base/step.h"

#include <signal.h>
#include <stdlib.h>

#include <atomic>
#include <cstdio>

namespace sluice {

void step(const char* name) {
  static const char* const wanted = getenv("SLUICE_KILL_AT");
  static std::atomic<long> counted = 0;
  static const char* const stopped = getenv("SLUICE_STOP_AT");
  if (wanted == nullptr && stopped == nullptr) {
    return;
  }
  const long at = wanted == nullptr ? -1 : strtol(wanted, nullptr, 10);
  const long count = ++counted;
  if (stopped != nullptr && count == strtol(stopped, nullptr, 10)) {
    raise(SIGSTOP);
  }
  if (at == 0) {
    std::fprintf(stderr, "step %ld: %s\n", count, name);
  } else if (count == at) {
    raise(SIGKILL);
  }
}

}  // namespace sluice

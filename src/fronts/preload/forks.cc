#include "fronts/preload/forks.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace sluice::preload {
namespace {

constexpr int most_waits = 50000;  // of 20 us

constinit std::atomic<unsigned> entering = 0;
constinit std::atomic<unsigned> forking = 0;
// Of those, this thread's own: it does not wait for itself.
__attribute__((tls_model("initial-exec"))) thread_local constinit unsigned own_entering = 0;
__attribute__((tls_model("initial-exec"))) thread_local constinit unsigned own_forking = 0;

void wait_for(const std::atomic<unsigned>& count, unsigned wanted) {
  for (int i = 0; count.load() > wanted && i < most_waits; ++i) {
    const timespec moment{.tv_sec = 0, .tv_nsec = 20000};
    syscall(SYS_nanosleep, &moment, nullptr);
  }
}

}  // namespace

Entering::Entering() {
  ++own_entering;
  for (entering.fetch_add(1); forking.load() > own_forking; entering.fetch_add(1)) {
    entering.fetch_sub(1);
    wait_for(forking, own_forking);
  }
}
Entering::~Entering() {
  entering.fetch_sub(1);
  --own_entering;
}

void begin_fork() {
  ++own_forking;
  forking.fetch_add(1);
  wait_for(entering, own_entering);
}
void end_fork() {
  forking.fetch_sub(1);
  --own_forking;
}
void end_fork_in_child() {
  end_fork();
  forking.store(own_forking);
  entering.store(own_entering);
}

}  // namespace sluice::preload

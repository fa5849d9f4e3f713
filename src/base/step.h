// Named points between the steps of work that must be safe to interrupt. They do nothing, but for tests:
// with SLUICE_KILL_AT=N in the environment the process kills itself (SIGKILL) at the N-th of them, so that a
// test can step through all. SLUICE_KILL_AT=0 counts them on standard error. With SLUICE_STOP_AT=N it stops
// itself (SIGSTOP) there, and goes on when it is told to (SIGCONT).
#pragma once

namespace sluice {

void step(const char* name);

}  // namespace sluice

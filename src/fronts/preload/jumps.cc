// A signal's handler may jump out of a call of ours: what that had taken is given back, else all others would
// wait for it. A handler that jumps within itself has that done to what it interrupted, too; nothing is torn
// by that, as each change is whole.
#include "fronts/preload/export.h"
#include "fronts/preload/file.h"
#include "fronts/preload/real.h"
#include "pipeline/process.h"
#include "pipeline/tracing.h"

using sluice::preload::real;

namespace {

void before_jump() {
  if (sluice::held_locks.count != 0) [[unlikely]] {
    sluice::let_go_of_all();
  }
  sluice::leave_trace_record();
  sluice::preload::leave_stages();
}

}  // namespace

// Not as <setjmp.h> has them: with _FORTIFY_SOURCE they are all one there.
SLUICE_EXPORT __attribute__((noreturn)) void longjmp(void* to, int value) {
  before_jump();
  real.longjmp(to, value);
  __builtin_unreachable();
}
SLUICE_EXPORT __attribute__((noreturn)) void _longjmp(void* to, int value) {
  before_jump();
  real.longjmp(to, value);
  __builtin_unreachable();
}
SLUICE_EXPORT __attribute__((noreturn)) void siglongjmp(void* to, int value) {
  before_jump();
  real.siglongjmp(to, value);
  __builtin_unreachable();
}
SLUICE_EXPORT __attribute__((noreturn)) void __longjmp_chk(void* to, int value) {
  before_jump();
  real.longjmp_chk(to, value);
  __builtin_unreachable();
}

// A signal's handler may jump out of a call of ours: what that had taken is given back, else all others would
// wait for it. A handler that jumps within itself has that done to what it interrupted, too, but for what is
// kept back of files; nothing is torn by that, as each change is whole.
#include <cstddef>
#include <cstdint>

#include "fronts/preload/export.h"
#include "fronts/preload/file.h"
#include "fronts/preload/real.h"
#include "pipeline/buffers.h"
#include "pipeline/process.h"
#include "pipeline/tracing.h"

using sluice::preload::real;

namespace {

// Where the stack will end. libc has hidden it, in the same way for long.
std::uintptr_t stack_after(const void* to) {
#ifdef __x86_64__
  constexpr std::size_t stack_pointer = 6;
  auto out = static_cast<const std::uintptr_t*>(to)[stack_pointer];
  asm("ror $17, %0\n\txor %%fs:0x30, %0" : "+r"(out) : : "cc");
  return out;
#else
  return to == nullptr ? 0 : UINTPTR_MAX;
#endif
}

void before_jump(const void* to) {
  if (sluice::held_buffers.count != 0) [[unlikely]] {
    sluice::leave_buffers(stack_after(to));
  }
  if (sluice::held_locks.count != 0) [[unlikely]] {
    sluice::let_go_of_all();
  }
  sluice::leave_trace_record();
  sluice::preload::leave_stages();
}

}  // namespace

// Not as <setjmp.h> has them: with _FORTIFY_SOURCE they are all one there.
SLUICE_EXPORT __attribute__((noreturn)) void longjmp(void* to, int value) {
  before_jump(to);
  real.longjmp(to, value);
  __builtin_unreachable();
}
SLUICE_EXPORT __attribute__((noreturn)) void _longjmp(void* to, int value) {
  before_jump(to);
  real.longjmp(to, value);
  __builtin_unreachable();
}
SLUICE_EXPORT __attribute__((noreturn)) void siglongjmp(void* to, int value) {
  before_jump(to);
  real.siglongjmp(to, value);
  __builtin_unreachable();
}
SLUICE_EXPORT __attribute__((noreturn)) void __longjmp_chk(void* to, int value) {
  before_jump(to);
  real.longjmp_chk(to, value);
  __builtin_unreachable();
}

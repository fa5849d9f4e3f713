#include "fronts/preload/file.h"
#include "fronts/preload/real.h"
#include "fronts/preload/stdio.h"
#include "pipeline/line.h"

namespace sluice::preload {
namespace {

__attribute__((constructor)) void begin_process() {
  find_real();
  note_standard_error();
  start();
  if (is_active() && !see_stdio()) {
    say("what stdio reads and writes passes no stage", "this libc is not known");
  }
}

}  // namespace
}  // namespace sluice::preload

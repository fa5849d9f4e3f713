// Tells `sluice doctor` which system calls passed the stages. Without it, nothing looks.
#include "stages/mark/mark.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "sluice/stage.h"

namespace sluice {
namespace {

void tell(long what) {
  const int saved = errno;
  syscall(SYS_lseek, mark_descriptor, what, SEEK_SET);
  errno = saved;
}

std::int64_t act(void*, void**, sluice_activity* activity, const sluice_next* next) {
  tell(mark_begin);
  const std::int64_t result = next->act(next, activity);
  tell(mark_end);
  return result;
}

}  // namespace

extern const sluice_stage stage_mark = {
    .size = sizeof(sluice_stage),
    .version = SLUICE_STAGE_VERSION,
    .name = "mark",
    .summary = "tells sluice doctor which calls passed the stages",
    .scope = "activity",
    .interference = "none",
    .state = "none",
    .semantics = "kept",
    .parameters = "",
    .operations = SLUICE_BIT(SLUICE_OPEN) | SLUICE_BIT(SLUICE_READ) | SLUICE_BIT(SLUICE_WRITE),
    .aside = 0,
    .start = nullptr,
    .act = act,
    .wants = nullptr,
};

}  // namespace sluice

// Writes go nowhere and reads bring zeros: what a program costs without its I/O.
#include <fcntl.h>

#include <cstdint>
#include <cstring>

#include "sluice/stage.h"

namespace sluice {
namespace {

std::int64_t act(void*, void**, sluice_activity* activity, const sluice_next* next) {
  if (activity->operation == SLUICE_OPEN) {  // what is there is not to be emptied
    activity->flags &= ~O_TRUNC;
    return next->act(next, activity);
  }
  if (activity->operation == SLUICE_READ) {
    std::memset(activity->data, 0, activity->length);
  }
  activity->error = 0;
  const bool moves = activity->operation == SLUICE_READ || activity->operation == SLUICE_WRITE;
  return activity->result = moves ? static_cast<std::int64_t>(activity->length) : 0;
}

}  // namespace

extern const sluice_stage stage_null = {
    .size = sizeof(sluice_stage),
    .version = SLUICE_STAGE_VERSION,
    .name = "null",
    .summary = "writes go nowhere and reads bring zeros: the program without its I/O",
    .scope = "activity",
    .interference = "data",
    .state = "none",
    .semantics = "broken",
    .parameters = "",
    .operations = SLUICE_BIT(SLUICE_OPEN) | SLUICE_BIT(SLUICE_READ) | SLUICE_BIT(SLUICE_WRITE) |
                  SLUICE_BIT(SLUICE_SYNC) | SLUICE_BIT(SLUICE_TRUNCATE) | SLUICE_BIT(SLUICE_ALLOCATE),
    .aside = 0,
    .start = nullptr,
    .act = act,
};

}  // namespace sluice

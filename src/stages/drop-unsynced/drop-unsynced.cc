// What would a power cut leave? The program runs as ever; when the run ends, every file that it wrote is as
// it was when it was last synced, or when it was first opened. The keeper has the copies (run/snapshots.h).
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "pipeline/area.h"
#include "pipeline/line.h"
#include "pipeline/tell.h"

namespace sluice {
namespace {

char watched = 0;
char synced = 0;  // and every write is

bool watch(const sluice_activity& activity, int fd) {
  Area* area = this_area();
  if (area == nullptr || !ask_keeper(*area, KeeperMessage::snapshot, fd)) {
    Line()
        .add("drop-unsynced: ")
        .quote(activity.path)
        .add(" stays as it is written: no descriptor is left")
        .say();
    return false;
  }
  area->snapshots.store(1, std::memory_order_relaxed);
  return true;
}

// One that is cut by its name, maybe before anybody has opened it.
void watch_name(const sluice_activity& activity) {
  const auto fd =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, activity.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (fd >= 0) {
    watch(activity, fd);
    syscall(SYS_close, fd);
  }
}

std::int64_t act(void*, void** file_state, sluice_activity* activity, const sluice_next* next) {
  if (activity->operation == SLUICE_TRUNCATE && activity->descriptor < 0) {
    watch_name(*activity);
  }
  const std::int64_t result = next->act(next, activity);
  if (result < 0) {
    return result;
  }
  const int saved = errno;
  if (activity->operation == SLUICE_OPEN && (activity->flags & O_ACCMODE) != O_RDONLY) {
    if (watch(*activity, static_cast<int>(result))) {
      *file_state = (activity->flags & O_DSYNC) != 0 ? &synced : &watched;
    }
  } else if (activity->operation == SLUICE_SYNC ||
             (*file_state == &synced && activity->operation != SLUICE_CLOSE)) {
    // By whatever descriptor: the keeper knows which files are watched.
    if (Area* area = this_area(); area != nullptr && area->snapshots.load(std::memory_order_relaxed) != 0) {
      ask_keeper(*area, KeeperMessage::refresh, activity->descriptor);
    }
  }
  if (activity->operation == SLUICE_CLOSE) {
    *file_state = nullptr;
  }
  errno = saved;
  return result;
}

}  // namespace

extern const sluice_stage stage_drop_unsynced = {
    .size = sizeof(sluice_stage),
    .version = SLUICE_STAGE_VERSION,
    .name = "drop-unsynced",
    .summary = "when the run ends, files are as they were last synced: what a power cut would leave",
    .scope = "job",
    .interference = "none",
    .state = "buffers",
    .semantics = "broken",
    .parameters = "",
    .operations = SLUICE_BIT(SLUICE_OPEN) | SLUICE_BIT(SLUICE_SYNC) | SLUICE_BIT(SLUICE_CLOSE) |
                  SLUICE_BIT(SLUICE_WRITE) | SLUICE_BIT(SLUICE_TRUNCATE) | SLUICE_BIT(SLUICE_ALLOCATE),
    .aside = 0,
    .start = nullptr,
    .act = act,
    .wants = nullptr,
};

}  // namespace sluice

// What would a power cut leave? The program runs as ever; when the run ends, every file that it wrote is as
// it was when it was last synced, or when it was first opened. The keeper has the copies (run/snapshots.h).
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "pipeline/area.h"
#include "pipeline/tell.h"

namespace sluice {
namespace {

constexpr int longest_wait = 6000;  // tenths of a second: copies take their time

// Tells the keeper of a file and waits until it has done what it does. False where it could not.
bool ask_keeper(KeeperMessage::Kind kind, int fd) {
  Area* area = this_area();
  const auto process = static_cast<pid_t>(syscall(SYS_getpid));
  Buffer* answer = area == nullptr || area->buffers == 0 ? nullptr : area->take_buffer(process, 1);
  if (answer == nullptr) {
    return false;
  }
  answer->held = 1;
  const KeeperMessage message{.kind = kind,
                              .buffer = static_cast<std::uint32_t>(answer - area->all_buffers().data()),
                              .generation = answer->generation,
                              .process = process};
  bool good = tell_keeper(*area, message, fd);
  for (int i = 0; good && answer->held == 1 && i < longest_wait && keeper_lives(*area); ++i) {
    const timespec patience{.tv_sec = 0, .tv_nsec = 100000000};
    syscall(SYS_futex, &answer->held, FUTEX_WAIT, 1, &patience, nullptr, 0);
  }
  good = good && answer->held == 0;
  Area::give_back(*answer);
  return good;
}

std::int64_t act(void*, void** file_state, sluice_activity* activity, const sluice_next* next) {
  const std::int64_t result = next->act(next, activity);
  if (result < 0) {
    return result;
  }
  const int saved = errno;
  if (activity->operation == SLUICE_OPEN && (activity->flags & O_ACCMODE) != O_RDONLY) {
    static char watched = 0;
    *file_state = ask_keeper(KeeperMessage::snapshot, static_cast<int>(result)) ? &watched : nullptr;
  } else if (activity->operation == SLUICE_SYNC && *file_state != nullptr) {
    ask_keeper(KeeperMessage::refresh, activity->descriptor);
  } else if (activity->operation == SLUICE_CLOSE) {
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
    .operations = SLUICE_BIT(SLUICE_OPEN) | SLUICE_BIT(SLUICE_SYNC) | SLUICE_BIT(SLUICE_CLOSE),
    .aside = 0,
    .start = nullptr,
    .act = act,
    .wants = nullptr,
};

}  // namespace sluice

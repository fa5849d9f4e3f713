// Writes go nowhere and reads bring zeros: what a program costs without its I/O.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "pipeline/answer.h"
#include "pipeline/stack.h"
#include "pipeline/takes_bytes.h"

namespace sluice {
namespace {

// As many bytes as the file has from there on; its own position moves as it would.
std::int64_t read_nothing(sluice_activity& activity, const sluice_next* next) {
  struct stat found {};
  sluice_activity move = activity;
  move.operation = SLUICE_SEEK;
  move.offset = 0;
  move.flags = SEEK_CUR;
  const bool here = activity.offset == SLUICE_AT_POSITION;
  const std::int64_t at = here ? next->act(next, &move) : activity.offset;
  if (at < 0 || fstat(activity.descriptor, &found) != 0) {
    return next->act(next, &activity);  // says what is wrong
  }
  const std::uint64_t left = found.st_size > at ? static_cast<std::uint64_t>(found.st_size - at) : 0;
  const std::uint64_t got = std::min(left, activity.length);
  if (got > 0 && !is_memory(activity.data, got)) {
    return fail(activity, EFAULT);
  }
  std::memset(activity.data, 0, got);
  if (here && got > 0) {
    move.offset = static_cast<std::int64_t>(got);
    next->act(next, &move);
  }
  return static_cast<std::int64_t>(got);
}

// All of it is taken. Whether it may be written at all the kernel says of nothing, too.
std::int64_t write_nothing(sluice_activity& activity, const sluice_next* next) {
  sluice_activity none = activity;
  none.length = 0;
  if (activity.data == nullptr && activity.length == 0) {
    return 0;
  }
  if (!is_memory(activity.data, activity.length)) {
    return fail(activity, EFAULT);
  }
  if (next->act(next, &none) < 0) {
    return fail(activity, none.error);
  }
  if (activity.offset == SLUICE_AT_POSITION) {
    sluice_activity move = activity;
    move.operation = SLUICE_SEEK;
    move.offset = static_cast<std::int64_t>(activity.length);
    move.flags = SEEK_CUR;
    next->act(next, &move);
  }
  return static_cast<std::int64_t>(activity.length);
}

// The file stays, and it looks as if it had been done: what was to take its place goes, where it is ours.
std::int64_t spare(sluice_activity& activity) {
  struct stat found {};
  if (activity.operation == SLUICE_RENAME && lstat(activity.path, &found) == 0 && S_ISREG(found.st_mode) &&
      found.st_size == 0) {
    unlink(activity.path);
  }
  return done(activity, 0);
}

std::int64_t act(void*, void**, sluice_activity* activity, const sluice_next* next) {
  if (activity->operation == SLUICE_REMOVE || activity->operation == SLUICE_RENAME) {
    return takes_bytes(*activity) ? spare(*activity) : next->act(next, activity);
  }
  if (activity->operation == SLUICE_OPEN) {  // what is there is not to be emptied
    activity->flags &= ~O_TRUNC;
    return next->act(next, activity);
  }
  activity->error = 0;
  activity->result = 0;
  if (activity->operation == SLUICE_READ) {
    activity->result = read_nothing(*activity, next);
  } else if (activity->operation == SLUICE_WRITE) {
    activity->result = write_nothing(*activity, next);
  } else if (activity->operation == SLUICE_TRUNCATE && activity->descriptor >= 0 &&
             (fcntl(activity->descriptor, F_GETFL) & O_ACCMODE) == O_RDONLY) {
    return fail(*activity, EINVAL);
  }
  return activity->result;
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
                  SLUICE_BIT(SLUICE_SYNC) | SLUICE_BIT(SLUICE_TRUNCATE) | SLUICE_BIT(SLUICE_ALLOCATE) |
                  SLUICE_BIT(SLUICE_REMOVE) | SLUICE_BIT(SLUICE_RENAME),
    .aside = 0,
    .start = nullptr,
    .act = act,
    .wants = nullptr,
};

}  // namespace sluice

// What if there were no seeks? Whatever a program writes is written one after another to a nameless file
// beside the real one, which is not touched; what it reads back are bytes of that, in order. An upper bound
// to be measured: the program's results are of no use.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "pipeline/answer.h"
#include "pipeline/pool.h"
#include "pipeline/stack.h"
#include "pipeline/takes_bytes.h"

namespace sluice {
namespace {

// Of one open file: where the program thinks that it is, and where we are.
struct Scratch {
  std::atomic<std::int64_t> position = 0;
  std::atomic<std::int64_t> size = 0;     // that the program thinks
  std::atomic<std::int64_t> written = 0;  // bytes in the scratch
  std::atomic<std::int64_t> cursor = 0;   // of reads
  std::atomic<bool> appends = false;
};

Pool<Scratch, 4096> pool;

std::int64_t open_scratch(void** file_state, sluice_activity& activity, const sluice_next* next) {
  const int access = activity.flags & O_ACCMODE;
  char folder[4096];
  const char* slash = std::strrchr(activity.path, '/');
  const auto length = slash == nullptr ? std::size_t{0} : static_cast<std::size_t>(slash - activity.path);
  const bool changes = access != O_RDONLY || (activity.flags & (O_TRUNC | O_CREAT)) != 0;
  if (changes && (activity.target == nullptr || length == 0 || length >= sizeof folder)) {
    return fail(activity, EPERM);
  }
  struct stat found {};
  const bool there_is = stat(activity.path, &found) == 0;
  if (there_is && (activity.flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) {
    return fail(activity, EEXIST);
  }
  if (access == O_RDONLY) {
    activity.flags &= ~(O_TRUNC | O_CREAT | O_EXCL);  // nothing is made or emptied
    return next->act(next, &activity);
  }
  if (!there_is && (activity.flags & O_CREAT) == 0) {
    return next->act(next, &activity);  // says what is wrong
  }
  Scratch* scratch = pool.take();
  if (scratch == nullptr) {
    return fail(activity, ENFILE);
  }
  std::memcpy(folder, activity.path, length);
  folder[length] = 0;
  sluice_activity there = activity;
  there.descriptor = AT_FDCWD;
  there.target = folder;
  there.flags = O_TMPFILE | O_RDWR | (activity.flags & (O_CLOEXEC | O_SYNC | O_DSYNC | O_DIRECT));
  there.mode = 0600;
  const std::int64_t fd = next->act(next, &there);
  if (fd < 0) {
    pool.give_back(scratch);
    return fail(activity, there.error);
  }
  scratch->position = 0;
  scratch->size = there_is && (activity.flags & O_TRUNC) == 0 ? found.st_size : 0;
  scratch->appends = (activity.flags & O_APPEND) != 0;
  scratch->written = 0;
  scratch->cursor = 0;
  *file_state = scratch;
  return done(activity, fd);
}

std::int64_t write_next(Scratch& scratch, sluice_activity& activity, const sluice_next* next) {
  const bool here = activity.offset == SLUICE_AT_POSITION;
  const std::int64_t at = scratch.appends ? scratch.size.load()
                          : here          ? scratch.position.load()
                                          : activity.offset;
  sluice_activity one = activity;
  one.offset = scratch.written.fetch_add(static_cast<std::int64_t>(activity.length));
  const std::int64_t result = next->act(next, &one);
  activity.error = one.error;
  if (result > 0) {
    scratch.size = std::max(scratch.size.load(), at + result);
    if (here) {
      scratch.position = at + result;
    }
  }
  return activity.result = result;
}

// As many bytes as there would be, from wherever we are.
std::int64_t read_next(Scratch& scratch, sluice_activity& activity, const sluice_next* next) {
  const bool here = activity.offset == SLUICE_AT_POSITION;
  const std::int64_t at = here ? scratch.position.load() : activity.offset;
  const std::int64_t left = std::max<std::int64_t>(scratch.size.load() - at, 0);
  const std::uint64_t size = std::min(static_cast<std::uint64_t>(left), activity.length);
  const auto length = static_cast<std::int64_t>(size);
  if (size > 0 && !is_memory(activity.data, size)) {
    return fail(activity, EFAULT);
  }
  if (scratch.cursor + length > scratch.written) {
    scratch.cursor = 0;
  }
  // Of what was in the file before there is nothing: zeros.
  std::memset(activity.data, 0, size);
  sluice_activity one = activity;
  one.offset = scratch.cursor.fetch_add(length);
  one.length = size;
  if (length > 0 && next->act(next, &one) < 0) {
    return fail(activity, one.error);
  }
  if (here) {
    scratch.position = at + length;
  }
  return done(activity, length);
}

std::int64_t seek(Scratch& scratch, sluice_activity& activity) {
  const std::int64_t base = activity.flags == SEEK_SET   ? 0
                            : activity.flags == SEEK_CUR ? scratch.position.load()
                            : activity.flags == SEEK_END ? scratch.size.load()
                                                         : -1;
  if (base < 0 || base + activity.offset < 0) {
    return fail(activity, EINVAL);
  }
  scratch.position = base + activity.offset;
  return done(activity, scratch.position);
}

std::int64_t act(void*, void** file_state, sluice_activity* activity, const sluice_next* next) {
  if (activity->operation == SLUICE_OPEN) {
    return open_scratch(file_state, *activity, next);
  }
  if (activity->operation == SLUICE_REMOVE || activity->operation == SLUICE_RENAME) {
    return takes_bytes(*activity) ? fail(*activity, EPERM) : next->act(next, activity);
  }
  auto* scratch = static_cast<Scratch*>(*file_state);
  if (scratch == nullptr) {
    // Changed by its name, or open before we came: not to be touched.
    const bool changes = activity->operation == SLUICE_WRITE || activity->operation == SLUICE_TRUNCATE ||
                         activity->operation == SLUICE_ALLOCATE;
    const bool reads = activity->descriptor >= 0 && (fcntl(activity->descriptor, F_GETFL) & O_ACCMODE) ==
                                                        O_RDONLY;  // it is refused anyway
    return changes && !reads ? fail(*activity, EPERM) : next->act(next, activity);
  }
  switch (activity->operation) {
    case SLUICE_WRITE:
      return write_next(*scratch, *activity, next);
    case SLUICE_READ:
      return read_next(*scratch, *activity, next);
    case SLUICE_SEEK:
      return seek(*scratch, *activity);
    case SLUICE_TRUNCATE:
      scratch->size = static_cast<std::int64_t>(activity->length);
      return done(*activity, 0);
    case SLUICE_ALLOCATE:
      return done(*activity, 0);
    case SLUICE_CLOSE:
      *file_state = nullptr;
      pool.give_back(scratch);
      return next->act(next, activity);
    default:
      return next->act(next, activity);
  }
}

}  // namespace

extern const sluice_stage stage_seekfree = {
    .size = sizeof(sluice_stage),
    .version = SLUICE_STAGE_VERSION,
    .name = "seekfree",
    .summary =
        "what if there were no seeks: writes go one after another to a scratch file, never to the real one",
    .scope = "file",
    .interference = "data",
    .state = "counters",
    .semantics = "broken",
    .parameters = "",
    .operations = SLUICE_ALL | SLUICE_BIT(SLUICE_REMOVE) | SLUICE_BIT(SLUICE_RENAME),
    .aside = 0,
    .start = nullptr,
    .act = act,
    .wants = nullptr,
};

}  // namespace sluice

// Counts what a program does with each file: calls, failures, sizes, time and pattern, and hears its hints,
// in memory that the run shares, so that nothing is lost when the program is killed.
#include <fcntl.h>

#include <atomic>

#include "base/clock.h"
#include "pipeline/area.h"
#include "pipeline/heard.h"
#include "pipeline/points.h"
#include "pipeline/pool.h"

namespace sluice {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

// Of one open file.
struct Seen {
  AreaFile* row = nullptr;
  std::atomic<std::int64_t> position = 0;  // of the file's own
  std::array<LastRequest, 2> last;         // reads, writes
};

// Where in the stack it stands: a number of the run's.
std::array<std::uint32_t, PointNames::most> points;

// The state of a file where nothing can be counted: there is no area.
char no_row = 0;

// Files that find none are counted in their row, without a pattern.
Pool<Seen, 4096> pool;

std::uint64_t now() {
  return static_cast<std::uint64_t>(nanoseconds_of(CLOCK_MONOTONIC));
}

void count_request(Seen* seen, AreaFile& row, const sluice_activity& activity) {
  const bool write = activity.operation == SLUICE_WRITE;
  Traffic& traffic = row.traffic[write ? 1 : 0];
  // Of a vector, or a copy by the kernel, only what was moved is known.
  traffic.count(static_cast<std::uint64_t>(activity.result),
                activity.data == nullptr ? static_cast<std::uint64_t>(activity.result) : activity.length);
  if (seen == nullptr) {
    return;
  }
  const bool here = activity.offset == SLUICE_AT_POSITION;
  const std::int64_t begin = here ? seen->position.fetch_add(activity.result, relaxed) : activity.offset;
  traffic.count_pattern(seen->last[write ? 1 : 0], begin, activity.result);
}

// The row of an open file, with or without one of the pool: the lowest bit tells which.
AreaFile* row_of(void* state, Seen*& seen) {
  const auto bits = reinterpret_cast<std::uintptr_t>(state);
  if ((bits & 1) != 0) {
    seen = nullptr;
    return reinterpret_cast<AreaFile*>(bits & ~std::uintptr_t{1});
  }
  seen = state == &no_row ? nullptr : static_cast<Seen*>(state);
  return seen == nullptr ? nullptr : seen->row;
}

int start(const char* text, void** state, char* error, std::size_t error_size) {
  Parameters parameters(text, error, error_size);
  std::string_view name;
  if (!parse_point(parameters, name)) {
    return -1;
  }
  const Area* area = this_area();
  const int number = area == nullptr ? 0 : area->count_points.number_of(name);
  if (number < 0) {
    return parameters.refuse("the run has no such point");
  }
  std::uint32_t& point = points[static_cast<std::size_t>(number)];
  point = static_cast<std::uint32_t>(number);
  *state = &point;
  return 0;
}

// The row of a file where the stage stands, or that of all for which there is none; null without an area.
AreaFile* find_row(void* stage_state, const char* path, bool& own) {
  Area* area = this_area();
  if (area == nullptr) {
    return nullptr;
  }
  const std::uint32_t point = *static_cast<const std::uint32_t*>(stage_state);
  AreaFile* row = area->file(path, point);
  own = row != nullptr;
  return own ? row : &area->others[point];
}

void* begin_file(void* stage_state, const char* path) {
  bool own = false;
  AreaFile* row = find_row(stage_state, path, own);
  if (row == nullptr) {
    return &no_row;
  }
  // Of many files in one row there is no pattern.
  Seen* seen = own ? pool.take() : nullptr;
  if (seen == nullptr) {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(row) | 1);
  }
  seen->row = row;
  seen->position = 0;
  for (LastRequest& last : seen->last) {
    last.end = -1;
    last.gap = 0;
  }
  return seen;
}

std::uint32_t how_opened(std::int32_t flags) {
  return (flags & O_DSYNC) != 0    ? AreaFile::opened_synced  // O_SYNC has that bit
         : (flags & O_DIRECT) != 0 ? AreaFile::opened_direct
                                   : AreaFile::opened_plain;
}

// A hint is no call that is counted.
std::int64_t listen(void* stage_state, void** file_state, sluice_activity* activity,
                    const sluice_next* next) {
  if (*file_state == nullptr) {
    *file_state = begin_file(stage_state, activity->path);
  }
  Seen* seen = nullptr;
  if (AreaFile* row = row_of(*file_state, seen); row != nullptr) {
    hear(row->heard, activity->flags);
  }
  return next->act(next, activity);
}

std::int64_t act(void* stage_state, void** file_state, sluice_activity* activity, const sluice_next* next) {
  if (activity->operation == SLUICE_ADVISE) [[unlikely]] {
    return listen(stage_state, file_state, activity, next);
  }
  const std::uint64_t begin = now();
  const std::int64_t result = next->act(next, activity);
  const std::uint64_t spent = now() - begin;
  if (*file_state == nullptr && (activity->operation != SLUICE_OPEN || result >= 0)) {
    *file_state = begin_file(stage_state, activity->path);
  }
  Seen* seen = nullptr;
  AreaFile* row = row_of(*file_state, seen);
  // An open that failed has no file, but a row.
  bool own = false;
  row =
      row == nullptr && activity->operation == SLUICE_OPEN ? find_row(stage_state, activity->path, own) : row;
  if (row == nullptr) {
    return result;
  }
  if (activity->operation == SLUICE_OPEN && result >= 0) {
    row->opened.fetch_or(how_opened(activity->flags), relaxed);
  }
  row->calls[activity->operation].fetch_add(1, relaxed);
  row->nanoseconds[activity->operation].fetch_add(spent, relaxed);
  if (result < 0) {
    row->failures[activity->operation].fetch_add(1, relaxed);
  } else if (result > 0 && (activity->operation == SLUICE_READ || activity->operation == SLUICE_WRITE)) {
    count_request(seen, *row, *activity);  // one that moves nothing, as at the end of a file, has no size
  } else if (activity->operation == SLUICE_SEEK && seen != nullptr) {
    seen->position.store(result, relaxed);
  }
  if (activity->operation == SLUICE_CLOSE) {
    if (seen != nullptr) {
      pool.give_back(seen);
    }
    *file_state = nullptr;
  }
  return result;
}

}  // namespace

extern const sluice_stage stage_stats = {
    .size = sizeof(sluice_stage),
    .version = SLUICE_STAGE_VERSION,
    .name = "stats",
    .summary = "counts calls, sizes, time and pattern of each file",
    .scope = "file",
    .interference = "none",
    .state = "counters",
    .semantics = "kept",
    .parameters = "point=program what this place in the stack is called in the account",
    .operations = SLUICE_ALL | SLUICE_BIT(SLUICE_ADVISE),
    .aside = 0,
    .start = start,
    .act = act,
    .wants = nullptr,
};

}  // namespace sluice

// Records each call with its arguments, result and times for `sluice run --trace` (docs/trace.md). What was
// read or written is not recorded.
#include <limits.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "pipeline/area.h"
#include "pipeline/path_room.h"
#include "pipeline/process.h"
#include "stages/trace/site.h"

namespace sluice {
namespace {

constexpr int was_open = -1;  // flags of an open that nobody saw

// What a stage of this name is to the trace; the same for all processes of a run.
struct Point {
  AreaTrace* trace = nullptr;  // null: nobody records anything
  std::uint8_t number = 0;
};
std::array<Point, PointNames::most> points;

int start(const char* text, void** state, char* error, std::size_t error_size) {
  Parameters parameters(text, error, error_size);
  std::string_view name;
  if (!parse_point(parameters, name)) {
    return -1;
  }
  AreaTrace* trace = this_trace();
  if (trace != nullptr) {
    begin_threads();
  }
  const int number = trace == nullptr ? 0 : trace->points.number_of(name);
  if (number < 0) {
    return parameters.refuse("the run has no such point");
  }
  Point& point = points[static_cast<std::size_t>(number)];
  point = {.trace = trace, .number = static_cast<std::uint8_t>(number)};
  *state = &point;
  return 0;
}

// The number of an open file stands in its state.
void* pack(std::uint32_t file) {
  return reinterpret_cast<void*>(std::uintptr_t{file} << 1 | 1);
}
std::uint32_t unpack(void* state) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(state) >> 1);
}

std::uint32_t new_file(AreaTrace& trace, void** file_state) {
  const std::uint32_t file = trace.files.fetch_add(1, std::memory_order_relaxed) + 1;
  *file_state = pack(file);
  return file;
}

// A file that was open when the program started is told first.
void tell_open(const Point& point, void** file_state, const sluice_activity& activity, std::uint64_t now) {
  TraceCall call;
  call.begin = call.end = now;
  call.operation = SLUICE_OPEN;
  call.point = point.number;
  call.flags = was_open;
  call.file = new_file(*point.trace, file_state);
  call.result = activity.descriptor;
  write_whole_trace(*point.trace, call, activity.path);
}

void write_open(const Point& point, void** file_state, const sluice_activity& activity, TraceCall& call,
                const char* target) {
  call.length = 0;
  call.file = call.result < 0 ? 0 : new_file(*point.trace, file_state);
  const bool same = target == nullptr || target[0] != '/' || std::strcmp(target, activity.path) == 0;
  const std::string_view other = same ? "" : target;
  if (point.trace->sites == 0) {
    write_whole_trace(*point.trace, call, activity.path, other);
    return;
  }
  const PathRoom room;
  write_whole_trace(*point.trace, call, activity.path, other,
                    room ? find_site(room.text()) : std::string_view());
}

bool changes_names(std::uint32_t operation) {
  return (SLUICE_BIT(operation) & SLUICE_NAMES) != 0;
}

// `call` is begun.
std::int64_t act_names(const Point& point, sluice_activity& activity, const sluice_next& next,
                       TraceCall& call) {
  const char* target = activity.target;
  const std::int64_t result = next.act(&next, &activity);
  call.end = ticks(*point.trace);
  call.result = result < 0 ? -activity.error : result;
  write_whole_trace(*point.trace, call, activity.path, target == nullptr ? "" : target);
  return result;
}

std::int64_t act(void* state, void** file_state, sluice_activity* activity, const sluice_next* next) {
  const Point& point = *static_cast<const Point*>(state);
  if (point.trace == nullptr) {
    return next->act(next, activity);
  }
  AreaTrace& trace = *point.trace;
  const auto operation = static_cast<std::uint8_t>(activity->operation);
  const char* target = activity->target;
  const void* data = activity->data;
  TraceCall call{.offset = activity->offset,
                 .length = activity->length,
                 .flags = activity->flags,
                 .mode = activity->mode,
                 .operation = operation,
                 .point = point.number};
  call.begin = ticks(trace);
  if (*file_state == nullptr && operation != SLUICE_OPEN) [[unlikely]] {
    if (changes_names(operation)) {
      return act_names(point, *activity, *next, call);
    }
    tell_open(point, file_state, *activity, call.begin);
  }
  call.file = unpack(*file_state);
  const std::int64_t result = next->act(next, activity);
  call.end = ticks(trace);
  call.result = result < 0 ? -activity->error : result;
  if (operation == SLUICE_OPEN) [[unlikely]] {
    write_open(point, file_state, *activity, call, target);
    return result;
  }
  // Of a vector, or a copy by the kernel, only what was moved is known.
  if (data == nullptr && (operation == SLUICE_READ || operation == SLUICE_WRITE)) [[unlikely]] {
    call.length = static_cast<std::uint64_t>(std::max<std::int64_t>(result, 0));
  }
  write_trace(trace, call);
  if (operation == SLUICE_CLOSE) {
    *file_state = nullptr;
  }
  return result;
}

}  // namespace

extern const sluice_stage stage_trace = {
    .size = sizeof(sluice_stage),
    .version = SLUICE_STAGE_VERSION,
    .name = "trace",
    .summary = "records every call for sluice run --trace",
    .scope = "activity",
    .interference = "none",
    .state = "counters",
    .semantics = "kept",
    .parameters = "point=program what this place in the stack is called in the trace",
    .operations = SLUICE_ALL | SLUICE_BIT(SLUICE_ADVISE) | SLUICE_NAMES,
    .aside = 0,
    .start = start,
    .act = act,
    .wants = nullptr,
};

}  // namespace sluice

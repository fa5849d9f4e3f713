// Of a write only the first part arrives, and the program is told that all of it did.
#include <algorithm>
#include <atomic>

#include "pipeline/parameters.h"
#include "pipeline/settings.h"

namespace sluice {
namespace {

struct Tear {
  std::int64_t keep = 512;  // bytes of each
  std::int64_t after = 0;   // so many writes arrive whole first
  std::atomic<std::int64_t> seen = 0;
};

constinit SettingsRoom<Tear> tears;

int start(const char* text, void** state, char* error, std::size_t error_size) {
  Parameters parameters(text, error, error_size);
  Tear& out = tears.take();
  while (parameters.next()) {
    if (parameters.name != "keep" && parameters.name != "after") {
      return parameters.refuse("torn has keep and after");
    }
    if (!parameters.number(parameters.name == "keep" ? out.keep : out.after)) {
      return parameters.refuse("not a number");
    }
  }
  if (!parameters.good()) {
    return -1;
  }
  *state = &out;
  return 0;
}

std::int64_t act(void* state, void**, sluice_activity* activity, const sluice_next* next) {
  auto& tear = *static_cast<Tear*>(state);
  const std::uint64_t whole = activity->length;
  if (tear.seen.fetch_add(1, std::memory_order_relaxed) < tear.after ||
      whole <= static_cast<std::uint64_t>(tear.keep)) {
    return next->act(next, activity);
  }
  const bool here = activity->offset == SLUICE_AT_POSITION;
  activity->length = static_cast<std::uint64_t>(tear.keep);
  const std::int64_t done = tear.keep > 0 ? next->act(next, activity) : 0;
  activity->length = whole;
  if (done < 0) {
    return done;
  }
  if (here) {  // the next one goes where it would have gone
    sluice_activity move = *activity;
    move.operation = SLUICE_SEEK;
    move.offset = static_cast<std::int64_t>(whole) - done;
    move.flags = 1;  // SEEK_CUR
    next->act(next, &move);
  }
  activity->error = 0;
  return activity->result = static_cast<std::int64_t>(whole);
}

}  // namespace

extern const sluice_stage stage_torn = {
    .size = sizeof(sluice_stage),
    .version = SLUICE_STAGE_VERSION,
    .name = "torn",
    .summary = "of a write only the first part arrives, and all of it is reported",
    .scope = "activity",
    .interference = "data",
    .state = "counters",
    .semantics = "broken",
    .parameters = "keep=512 bytes of each that arrive\nafter=0 so many arrive whole first",
    .operations = SLUICE_BIT(SLUICE_WRITE),
    .aside = 0,
    .start = start,
    .act = act,
    .wants = nullptr,
};

}  // namespace sluice

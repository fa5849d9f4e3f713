// Each operation waits before it is done.
#include <ctime>

#include "pipeline/parameters.h"
#include "pipeline/settings.h"

namespace sluice {
namespace {

struct Delay {
  std::int64_t nanoseconds = 1000000;
  std::uint32_t operations = SLUICE_BIT(SLUICE_READ) | SLUICE_BIT(SLUICE_WRITE);
};

constinit SettingsRoom<Delay> delays;

int start(const char* text, void** state, char* error, std::size_t error_size) {
  Parameters parameters(text, error, error_size);
  Delay& out = delays.take();
  while (parameters.next()) {
    if (parameters.name == "time") {
      const bool bare =
          !parameters.value.empty() && parameters.value.back() <= '9' && parameters.value != "0";
      if (bare || !parameters.number(out.nanoseconds)) {
        return parameters.refuse("not a time; write 5ms, or 200us");
      }
    } else if (parameters.name == "operations") {
      const auto operations = parse_operations(parameters.value);
      if (!operations) {
        return parameters.refuse("not operations; write read+write, or sync");
      }
      out.operations = *operations;
    } else {
      return parameters.refuse("delay has time and operations");
    }
  }
  if (!parameters.good()) {
    return -1;
  }
  *state = &out;
  return 0;
}

std::int64_t act(void* state, void**, sluice_activity* activity, const sluice_next* next) {
  const auto& delay = *static_cast<const Delay*>(state);
  if ((delay.operations & SLUICE_BIT(activity->operation)) != 0) {
    timespec left = {.tv_sec = delay.nanoseconds / 1000000000, .tv_nsec = delay.nanoseconds % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) != 0) {
    }
  }
  return next->act(next, activity);
}

}  // namespace

extern const sluice_stage stage_delay = {
    .size = sizeof(sluice_stage),
    .version = SLUICE_STAGE_VERSION,
    .name = "delay",
    .summary = "each operation waits before it is done",
    .scope = "activity",
    .interference = "timing",
    .state = "none",
    .semantics = "kept",
    .parameters = "time=1ms how long\noperations=read+write which ones",
    .operations = SLUICE_ALL,
    .aside = 0,
    .start = start,
    .act = act,
    .wants = nullptr,
};

}  // namespace sluice

// Chosen operations fail, as those of a full or broken device do.
#include <atomic>
#include <cerrno>

#include "pipeline/parameters.h"
#include "pipeline/settings.h"

namespace sluice {
namespace {

struct Fault {
  std::uint32_t operations = SLUICE_BIT(SLUICE_WRITE);
  int number = EIO;
  std::int64_t after = 0;  // so many are done first
  std::int64_t count = INT64_MAX;
  std::atomic<std::int64_t> seen = 0;
};

constinit SettingsRoom<Fault> faults;

constexpr std::array<std::pair<std::string_view, int>, 8> numbers = {{{"EIO", EIO},
                                                                      {"ENOSPC", ENOSPC},
                                                                      {"EDQUOT", EDQUOT},
                                                                      {"EFBIG", EFBIG},
                                                                      {"EACCES", EACCES},
                                                                      {"EROFS", EROFS},
                                                                      {"EINTR", EINTR},
                                                                      {"ESTALE", ESTALE}}};

int start(const char* text, void** state, char* error, std::size_t error_size) {
  Parameters parameters(text, error, error_size);
  Fault& out = faults.take();
  while (parameters.next()) {
    if (parameters.name == "operations") {
      const auto operations = parse_operations(parameters.value);
      if (!operations) {
        return parameters.refuse("not operations; write read+write, or sync");
      }
      out.operations = *operations;
    } else if (parameters.name == "errno") {
      out.number = 0;
      for (const auto& [name, number] : numbers) {
        out.number = name == parameters.value ? number : out.number;
      }
      if (out.number == 0) {
        return parameters.refuse("one of EIO ENOSPC EDQUOT EFBIG EACCES EROFS EINTR ESTALE");
      }
    } else if (parameters.name == "after" || parameters.name == "count") {
      if (parameters.name == "count" && parameters.value == "all") {
        out.count = Fault().count;
      } else if (!parameters.number(parameters.name == "after" ? out.after : out.count)) {
        return parameters.refuse("not a number");
      }
    } else {
      return parameters.refuse("error has operations, errno, after and count");
    }
  }
  if (!parameters.good()) {
    return -1;
  }
  *state = &out;
  return 0;
}

std::int64_t act(void* state, void**, sluice_activity* activity, const sluice_next* next) {
  auto& fault = *static_cast<Fault*>(state);
  if ((fault.operations & SLUICE_BIT(activity->operation)) != 0) {
    const std::int64_t nth = fault.seen.fetch_add(1, std::memory_order_relaxed);
    if (nth >= fault.after && nth - fault.after < fault.count) {
      if (activity->operation == SLUICE_CLOSE) {  // the descriptor is gone all the same
        next->act(next, activity);
      }
      activity->error = fault.number;
      return activity->result = -1;
    }
  }
  return next->act(next, activity);
}

}  // namespace

extern const sluice_stage stage_error = {
    .size = sizeof(sluice_stage),
    .version = SLUICE_STAGE_VERSION,
    .name = "error",
    .summary = "chosen operations fail",
    .scope = "activity",
    .interference = "calls",
    .state = "counters",
    .semantics = "broken",
    .parameters =
        "operations=write which ones\nerrno=EIO the error\nafter=0 so many are done first\n"
        "count=all so many fail",
    .operations = SLUICE_ALL,
    .aside = 0,
    .start = start,
    .act = act,
    .wants = nullptr,
};

}  // namespace sluice

#include "tier/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace sluice::tier {

std::span<const SchedulerInfo> schedulers() {
  static constexpr std::array<SchedulerInfo, 3> all = {{
      {"adaptive", "background requests take a share that shrinks when foreground ones get slower",
       make_adaptive_scheduler},
      {"queues", "background requests wait while there are foreground ones, until their deadline",
       make_queues_scheduler},
      {"fifo", "in the order in which they come", make_fifo_scheduler},
  }};
  return all;
}

Result<std::unique_ptr<Scheduler>> make_scheduler(std::string_view name, unsigned depth) {
  std::string names;
  for (const SchedulerInfo& info : schedulers()) {
    if (info.name == name) {
      return info.make(depth);
    }
    names += names.empty() ? info.name : fmt::format(", {}", info.name);
  }
  return bad_input(fmt::format("there is no scheduler {}", quote(name)),
                   fmt::format("give one of {}", names));
}

}  // namespace sluice::tier

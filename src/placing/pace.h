// How fast data is moved, and when.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "move/home.h"

namespace sluice {

// Counts what is copied by any number of threads, and keeps all of them together below a rate.
class Pace {
 public:
  // `told` gets the bytes so far; from one thread at a time.
  Pace(std::optional<double> rate, std::function<void(std::uint64_t)> told)
      : rate_(rate), told_(std::move(told)) {}

  [[nodiscard]] GoOn go_on() {
    return [this](std::uint64_t bytes) { return take(bytes); };
  }

 private:
  bool take(std::uint64_t bytes);

  std::optional<double> rate_;  // bytes per second
  std::function<void(std::uint64_t)> told_;
  std::mutex mutex_;
  std::uint64_t done_ = 0;
  double free_at_ = 0;  // when the next bytes may go
};

// Waits until the devices that the paths lie on have worked less than a tenth of a second, by the kernel's
// count (/proc/diskstats). A path whose device has no such count (memory, network) waits until the machine's
// load of the last minute is below the number of its processors.
void wait_until_idle(const std::vector<std::string>& paths);

// This thread's I/O comes after everybody else's, where the scheduler knows such a thing.
void yield_to_others();

}  // namespace sluice

#include "trace/import/strace_tasks.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr std::int64_t day = 24LL * 3600 * 1'000'000'000;
// Times beyond these are nonsense, and sums of them must be numbers still.
constexpr std::int64_t latest = 4'000'000'000LL * 1'000'000'000;
constexpr std::int64_t most_days = 10'000;
constexpr std::size_t most_descriptors = 1U << 20U;

}  // namespace

void StraceProcess::put(int number, StraceDescriptor descriptor) {
  if (table.size() < most_descriptors) {
    table[number] = std::move(descriptor);
  }
}

std::vector<int> StraceProcess::ending_at_exec() const {
  std::vector<int> out;
  for (const auto& [number, descriptor] : table) {
    if (descriptor.ends_at_exec) {
      out.push_back(number);
    }
  }
  return out;
}

std::int64_t StraceClock::since_first(const StraceLine& line) {
  std::int64_t now = line.time;
  if (line.clock == StraceLine::Clock::relative) {
    now = std::min(last_ + line.time, latest);
  } else if (line.clock == StraceLine::Clock::day) {
    now += days_ * day;
    if (first_ && now < last_ - day / 2 && days_ < most_days) {  // midnight
      ++days_;
      now += day;
    }
  }
  last_ = now;
  if (!first_) {
    first_ = now;
  }
  return std::max<std::int64_t>(now - *first_, 0);  // the clock may have been set
}

}  // namespace sluice

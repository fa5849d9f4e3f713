#include "base/log.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>

namespace sluice::log {
namespace {

std::atomic<Level> threshold = Level::warn;

}  // namespace

void set_level(Level level) {
  threshold = level;
}

bool enabled(Level level) {
  return level <= threshold.load(std::memory_order_relaxed);
}

// One write(2) a line: lines of several threads and processes do not mix, nothing is buffered, and there is
// no state that a fork could catch half changed.
void write(Level level, std::string_view message) {
  if (!enabled(level)) {
    return;
  }
  constexpr std::array names = {"", "warning: ", "info: ", "debug: "};
  std::string line = fmt::format("sluice: {}", names[static_cast<std::size_t>(level)]);
  if (level >= Level::info) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    line += fmt::format("[{:.6f}] ", std::chrono::duration<double>(now).count());
  }
  line += message;
  line += '\n';
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace sluice::log

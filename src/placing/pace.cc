#include "placing/pace.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "base/ioprio.h"
#include "base/text.h"
#include "base/units.h"

namespace sluice {
namespace {

constexpr double busy_share = 0.1;
constexpr int busy_column = 12;  // milliseconds spent doing I/O

void pause(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

std::map<std::string, std::uint64_t> busy_times() {
  std::map<std::string, std::uint64_t> out;
  const auto table = read_file("/proc/diskstats");
  for (const std::string_view line : table ? split(*table, '\n') : std::vector<std::string_view>()) {
    const auto words = split_blanks(line);
    const auto busy = words.size() > busy_column ? parse_count(words[busy_column]) : std::uint64_t{0};
    if (words.size() > busy_column && busy) {
      out[std::string(words[0]) + ":" + std::string(words[1])] = *busy;
    }
  }
  return out;
}

bool is_loaded() {
  double load = 0;
  return getloadavg(&load, 1) == 1 && load >= static_cast<double>(std::thread::hardware_concurrency());
}

}  // namespace

bool Pace::take(std::uint64_t bytes) {
  double wait = 0;
  {
    const std::lock_guard guard(mutex_);
    done_ += bytes;
    if (bytes > 0) {
      told_(done_);
    }
    if (rate_) {
      const double now = steady_seconds();
      free_at_ = std::max(free_at_, now) + static_cast<double>(bytes) / *rate_;
      wait = bytes > 0 ? free_at_ - now : 0;
    }
  }
  if (wait > 0) {
    pause(wait);
  }
  return true;
}

void wait_until_idle(const std::vector<std::string>& paths) {
  for (;;) {
    const auto before = busy_times();
    const double begin = steady_seconds();
    pause(1);
    const auto after = busy_times();
    const double passed = (steady_seconds() - begin) * 1000;
    const bool busy = std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
      struct stat about {};
      if (stat(path.c_str(), &about) != 0) {
        return false;
      }
      const std::string device =
          std::to_string(major(about.st_dev)) + ":" + std::to_string(minor(about.st_dev));
      const auto then = before.find(device);
      const auto now = after.find(device);
      return then == before.end() || now == after.end()
                 ? is_loaded()
                 : static_cast<double>(now->second - then->second) > busy_share * passed;
    });
    if (!busy) {
      return;
    }
  }
}

void yield_to_others() {
  set_io_priority(IoClass::idle);
}

}  // namespace sluice

#include "base/stop.h"

#include <signal.h>

#include <array>
#include <cerrno>

namespace sluice {
namespace {

constexpr std::array ends = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
std::array<struct sigaction, ends.size()> before = {};
volatile sig_atomic_t came = 0;
int there = 0;  // of them

void take(int signal_number) {
  came = signal_number;
}

}  // namespace

Stop::Stop() {
  if (there++ > 0) {
    return;
  }
  came = 0;
  struct sigaction action {};
  action.sa_handler = take;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    sigaction(ends[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) {
      sigaction(ends[i], &action, nullptr);
    }
  }
}

Stop::~Stop() {
  if (--there > 0) {
    return;
  }
  for (std::size_t i = 0; i < ends.size(); ++i) {
    sigaction(ends[i], &before[i], nullptr);
  }
}

Status Stop::check() {
  return came == 0 ? Status() : fail(EINTR, "ended by a signal");
}

int Stop::signal_number() {
  return came;
}

}  // namespace sluice

#include "run/aftermath.h"

#include <sys/time.h>

#include <atomic>

#include "base/log.h"

namespace sluice {
namespace {

std::atomic<bool> second_over = false;
std::atomic<bool> enough = false;

void note(int signal) {
  (signal == SIGALRM ? second_over : enough) = true;
}

void ring_every(time_t seconds) {
  const itimerval timer{.it_interval = {.tv_sec = seconds, .tv_usec = 0},
                        .it_value = {.tv_sec = seconds, .tv_usec = 0}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

void Aftermath::begin() {
  begun_ = true;
  second_over = false;
  enough = false;
  struct sigaction action {};
  action.sa_handler = note;  // without SA_RESTART
  for (std::size_t i = 0; i < signals.size(); ++i) {
    sigaction(signals[i], &action, &before_[i]);
  }
  ring_every(1);
}

void Aftermath::tell(std::size_t processes) {
  if (begun_ && !told_ && second_over && processes > 0) {
    told_ = true;
    log::warn(
        "doctor: the command has ended; {} of its processes have not, and are waited for (Ctrl-C ends them)",
        processes);
  }
}

bool Aftermath::is_to_end() const {
  return begun_ && enough;
}

Aftermath::~Aftermath() {
  if (!begun_) {
    return;
  }
  ring_every(0);
  for (std::size_t i = 0; i < signals.size(); ++i) {
    sigaction(signals[i], &before_[i], nullptr);
  }
}

}  // namespace sluice

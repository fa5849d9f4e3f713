#include "service/reactor.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::service {
namespace {

// Sleeps on the machines that we know are late by up to 0.1 ms.
constexpr Instant spin = std::chrono::microseconds(200);

timespec to_timespec(Instant time) {
  return {.tv_sec = static_cast<time_t>(time.count() / 1'000'000'000),
          .tv_nsec = time.count() % 1'000'000'000};
}

}  // namespace

Instant monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::seconds(now.tv_sec) + Instant(now.tv_nsec);
}

Result<Reactor> Reactor::create() {
  Reactor out;
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    sigaddset(&set, number);
  }
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  out.signals_ = UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  out.epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  if (!out.signals_ || !out.epoll_) {
    return Errno().fail("cannot wait for events");
  }
  epoll_event event{.events = EPOLLIN, .data = {.fd = out.signals_.get()}};
  epoll_ctl(out.epoll_.get(), EPOLL_CTL_ADD, out.signals_.get(), &event);
  prctl(PR_SET_TIMERSLACK, 1UL);
  return out;
}

Status Reactor::watch(int fd, std::function<void()> ready) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return Errno().fail("cannot wait for a descriptor");
  }
  watched_[fd] = std::move(ready);
  return {};
}

void Reactor::forget(int fd) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  watched_.erase(fd);
}

Status Reactor::run(const std::function<Instant(Instant)>& advance) {
  std::array<epoll_event, 16> events{};
  while (running_) {
    const Instant next = advance(monotonic_now());
    if (!running_) {
      break;
    }
    // The time is looked at again: advance() may have taken long.
    const Instant left = next == never ? never : std::max(next - monotonic_now(), Instant::zero());
    const timespec wait = to_timespec(left > spin ? left - spin : Instant::zero());
    const int count = epoll_pwait2(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                   next == never ? nullptr : &wait, nullptr);
    if (count < 0 && errno != EINTR) {
      return Errno().fail("cannot wait for events");
    }
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == signals_.get()) {
        running_ = false;
      } else if (const auto found = watched_.find(fd); found != watched_.end()) {
        const auto ready = found->second;  // which may forget itself
        ready();
      }
    }
  }
  return {};
}

}  // namespace sluice::service

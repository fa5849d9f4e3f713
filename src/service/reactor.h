// One thread that waits for file descriptors and for points in time, and meets those times within
// microseconds: it sleeps until shortly before and spins the rest (this kernel's sleeps are late by about
// 0.1 ms).
#pragma once

#include <chrono>
#include <functional>
#include <unordered_map>

#include "base/result.h"
#include "base/sys.h"

namespace sluice::service {

// Of the monotonic clock, or of a test's own.
using Instant = std::chrono::nanoseconds;
inline constexpr Instant never = Instant::max();
Instant monotonic_now();

class Reactor {
 public:
  // SIGTERM, SIGINT and SIGHUP stop run(). REQUIRES: made before other threads, which must inherit the
  // blocked signals.
  static Result<Reactor> create();

  // Calls `ready` whenever the descriptor can be read.
  Status watch(int fd, std::function<void()> ready);
  void forget(int fd);

  // Until stop() or a signal: calls `advance` with the time, which does what is due and returns when it wants
  // to be called next (`never`: only after a descriptor).
  Status run(const std::function<Instant(Instant now)>& advance);
  void stop() { running_ = false; }

 private:
  UniqueFd epoll_;
  UniqueFd signals_;
  bool running_ = true;
  std::unordered_map<int, std::function<void()>> watched_;
};

}  // namespace sluice::service

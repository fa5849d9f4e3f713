// Makes durable what has completed: flushes the devices that were written since their last flush. Flushes
// that are asked for while one runs share the next one.
#pragma once

#include <array>

#include "tier/device.h"
#include "tier/map.h"

namespace sluice::tier {

struct FlushWaiter {
  int error = 0;
  void (*done)(FlushWaiter&) = nullptr;
  void* owner = nullptr;
  FlushWaiter* next = nullptr;
};

class Flusher {
 public:
  // `submit` sends a flush to a tier; `began` and `ended` say when one flush of all starts and is over.
  struct Hooks {
    void* owner = nullptr;
    std::uint32_t (*take_dirty)(void* owner) = nullptr;  // which tiers, as bits; they count as clean from now
    void (*submit)(void* owner, Io& io) = nullptr;
    void (*ended)(void* owner, std::uint32_t failed) = nullptr;
  };
  explicit Flusher(const Hooks& hooks) : hooks_(hooks) {}

  // `done` is called from advance() or from a device's poll().
  void flush(FlushWaiter& waiter);
  void advance();
  [[nodiscard]] bool idle() const { return !running_ && next_ == nullptr; }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  void io_done(Io& io);
  void end();

  Hooks hooks_;
  bool running_ = false;
  unsigned open_ = 0;
  std::uint32_t failed_ = 0;
  std::array<Io, most_tiers> ios_{};
  FlushWaiter* current_ = nullptr;
  FlushWaiter* next_ = nullptr;
  std::uint64_t count_ = 0;
};

}  // namespace sluice::tier

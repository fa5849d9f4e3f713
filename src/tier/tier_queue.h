// The requests of one tier between the engine and its device: scheduled, counted, timed.
#pragma once

#include <memory>

#include "tier/device.h"
#include "tier/scheduler.h"

namespace sluice::tier {

struct TierCounts {
  std::uint64_t reads = 0, writes = 0, read_bytes = 0, written_bytes = 0;
  std::uint64_t moved_in = 0, moved_out = 0;  // bytes, by the movers
  std::uint64_t errors = 0, flushes = 0;
  double foreground_seconds = 0;  // sum over the foreground requests, queueing included
  std::uint64_t foreground_requests = 0;
};

class TierQueue {
 public:
  TierQueue(Device& device, std::unique_ptr<Scheduler> scheduler)
      : device_(device), scheduler_(std::move(scheduler)) {}

  void submit(Io& io, Instant now);
  // Polls the device and submits what the scheduler gives. Returns when it has to be called again.
  Instant advance(Instant now);

  [[nodiscard]] unsigned open() const { return open_; }  // queued and under way
  [[nodiscard]] unsigned most_open() const { return most_open_; }
  [[nodiscard]] const TierCounts& counts() const { return counts_; }
  [[nodiscard]] Device& device() { return device_; }
  // Whether something completed since the last flush began.
  bool dirty = false;

 private:
  void io_done(Io& io);
  void pump();

  Device& device_;
  std::unique_ptr<Scheduler> scheduler_;
  Instant now_{};
  unsigned open_ = 0;
  unsigned most_open_ = 0;
  TierCounts counts_{};
};

}  // namespace sluice::tier

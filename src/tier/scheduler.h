// In which order a tier's requests reach its device, and how many at a time. One scheduler a tier; another
// algorithm is another subclass in a file of its own, and a row in scheduler.cc.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "tier/device.h"

namespace sluice::tier {

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  virtual void push(Io& io) = 0;
  // The next request to submit, or null: none is there, or those that are wait for their turn.
  virtual Io* pop(Instant now) = 0;
  // A request that pop() gave has completed.
  virtual void completed(const Io& io, Instant now) = 0;
  // When pop() may give something without anything having completed; `never` where only that helps.
  [[nodiscard]] virtual Instant next_event() const { return never; }
};

struct SchedulerInfo {
  const char* name;
  const char* summary;
  std::unique_ptr<Scheduler> (*make)(unsigned depth);
};
std::span<const SchedulerInfo> schedulers();
Result<std::unique_ptr<Scheduler>> make_scheduler(std::string_view name, unsigned depth);

std::unique_ptr<Scheduler> make_fifo_scheduler(unsigned depth);
std::unique_ptr<Scheduler> make_queues_scheduler(unsigned depth);
std::unique_ptr<Scheduler> make_adaptive_scheduler(unsigned depth);

// A queue of requests, linked through Io::next.
class IoList {
 public:
  void push(Io& io) {
    io.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &io;
    last_ = &io;
  }
  Io* pop() {
    Io* const out = first_;
    first_ = out == nullptr ? nullptr : out->next;
    return out;
  }
  [[nodiscard]] const Io* first() const { return first_; }
  [[nodiscard]] bool empty() const { return first_ == nullptr; }

 private:
  Io* first_ = nullptr;
  Io* last_ = nullptr;
};

}  // namespace sluice::tier

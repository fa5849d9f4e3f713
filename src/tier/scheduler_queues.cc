// HintStor's two queues (3.5, 4.4): the work queue for the foreground, by priority, and the waiting queue for
// the background, which is served when the work queue is empty. A background request whose deadline has
// passed may go, one at a time, so that expired ones drip instead of burst.
#include <array>

#include "tier/scheduler.h"

namespace sluice::tier {
namespace {

class Queues : public Scheduler {
 public:
  explicit Queues(unsigned depth) : depth_(depth) {}

  void push(Io& io) override {
    if (io.lane == Lane::background) {
      waiting_.push(io);
    } else {
      work_[io.priority / 32].push(io);
      ++work_count_;
    }
  }
  Io* pop(Instant now) override {
    if (open_ >= depth_) {
      return nullptr;
    }
    const Io* const oldest = waiting_.first();
    const bool expired = oldest != nullptr && oldest->deadline <= now && background_ == 0;
    Io* out = nullptr;
    if (work_count_ > 0 && !expired) {
      for (IoList& list : work_) {
        if (!list.empty()) {
          out = list.pop();
          --work_count_;
          ++foreground_;
          break;
        }
      }
    } else if (oldest != nullptr && (expired || foreground_ == 0)) {
      out = waiting_.pop();
      ++background_;
    }
    open_ += out == nullptr ? 0 : 1;
    return out;
  }
  void completed(const Io& io, Instant) override {
    --open_;
    --(io.lane == Lane::background ? background_ : foreground_);
  }
  [[nodiscard]] Instant next_event() const override {
    return waiting_.empty() || background_ > 0 ? never : waiting_.first()->deadline;
  }

 private:
  unsigned depth_;
  unsigned open_ = 0;
  unsigned foreground_ = 0;
  unsigned background_ = 0;
  unsigned work_count_ = 0;
  std::array<IoList, 8> work_;
  IoList waiting_;
};

}  // namespace

std::unique_ptr<Scheduler> make_queues_scheduler(unsigned depth) {
  return std::make_unique<Queues>(depth);
}

}  // namespace sluice::tier

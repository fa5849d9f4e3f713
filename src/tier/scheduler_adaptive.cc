// The two queues, with a share of the device for the background that adapts: how much longer foreground
// requests take while background ones are under way decides how many of those there may be at a time, down to
// one in several foreground requests' time.
#include <algorithm>
#include <array>

#include "tier/scheduler.h"

namespace sluice::tier {
namespace {

using std::chrono::milliseconds;

class Adaptive : public Scheduler {
 public:
  explicit Adaptive(unsigned depth) : depth_(depth), share_(depth / 4.0) {}

  void push(Io& io) override {
    if (io.lane == Lane::background) {
      waiting_.push(io);
    } else {
      work_[io.priority / 32].push(io);
      ++work_count_;
    }
  }

  Io* pop(Instant now) override {
    now_ = now;
    if (open_ >= depth_) {
      return nullptr;
    }
    Io* out = nullptr;
    const Io* const oldest = waiting_.first();
    const bool expired = oldest != nullptr && oldest->deadline <= now && background_ == 0;
    if (oldest != nullptr && (expired || may_go(now))) {
      out = waiting_.pop();
      ++background_;
      last_background_ = now;
    } else if (work_count_ > 0) {
      for (IoList& list : work_) {
        if (!list.empty()) {
          out = list.pop();
          --work_count_;
          ++foreground_;
          break;
        }
      }
    }
    open_ += out == nullptr ? 0 : 1;
    return out;
  }

  void completed(const Io& io, Instant now) override {
    --open_;
    if (io.lane == Lane::background) {
      --background_;
      return;
    }
    --foreground_;
    last_foreground_ = now;
    if (io.op == Op::flush) {
      return;
    }
    const auto took = static_cast<double>((now - io.queued).count());
    // The latency without company is remembered, and forgotten slowly: the load changes.
    if (background_ == 0 && share_seen_ == 0) {
      alone_ = alone_ == 0 ? took : alone_ + (took - alone_) / 32;
    } else {
      beside_ = beside_ == 0 ? took : beside_ + (took - beside_) / 8;
      if (alone_ > 0) {
        share_ = beside_ > alone_ * most_slower ? share_ * 0.9 : share_ + 0.05;
        share_ = std::clamp(share_, least, depth_ * 0.75);
      }
    }
    share_seen_ = background_;
  }

  [[nodiscard]] Instant next_event() const override {
    if (waiting_.empty() || open_ >= depth_) {
      return never;
    }
    Instant out = background_ == 0 ? waiting_.first()->deadline : never;
    if (foreground_ + work_count_ == 0) {
      out = std::min(out, last_foreground_ + quiet);
    }
    return std::min(out, next_turn());
  }

 private:
  static constexpr double most_slower = 1.5;
  static constexpr double least = 0.02;
  static constexpr Instant quiet = milliseconds(20);

  // Below one request at a time, the share is the part of the time in which there is one.
  [[nodiscard]] Instant next_turn() const {
    if (share_ >= 1 || background_ > 0) {
      return never;
    }
    return last_background_ + Instant(static_cast<std::int64_t>(std::max(alone_, 1e5) / share_));
  }
  [[nodiscard]] bool may_go(Instant now) const {
    if (foreground_ + work_count_ == 0 && now - last_foreground_ >= quiet) {
      return true;  // nobody is there to be slowed down
    }
    return share_ >= 1 ? background_ < share_ : background_ == 0 && now >= next_turn();
  }

  unsigned depth_;
  double share_;
  double alone_ = 0;
  double beside_ = 0;
  unsigned share_seen_ = 0;
  unsigned open_ = 0;
  unsigned foreground_ = 0;
  unsigned background_ = 0;
  unsigned work_count_ = 0;
  Instant now_{};
  Instant last_foreground_ = Instant(-1'000'000'000);
  Instant last_background_{};
  std::array<IoList, 8> work_;
  IoList waiting_;
};

}  // namespace

std::unique_ptr<Scheduler> make_adaptive_scheduler(unsigned depth) {
  return std::make_unique<Adaptive>(depth);
}

}  // namespace sluice::tier

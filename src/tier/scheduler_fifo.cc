#include "tier/scheduler.h"

namespace sluice::tier {
namespace {

class Fifo : public Scheduler {
 public:
  explicit Fifo(unsigned depth) : depth_(depth) {}

  void push(Io& io) override { list_.push(io); }
  Io* pop(Instant) override {
    if (open_ >= depth_ || list_.empty()) {
      return nullptr;
    }
    ++open_;
    return list_.pop();
  }
  void completed(const Io&, Instant) override { --open_; }

 private:
  unsigned depth_;
  unsigned open_ = 0;
  IoList list_;
};

}  // namespace

std::unique_ptr<Scheduler> make_fifo_scheduler(unsigned depth) {
  return std::make_unique<Fifo>(depth);
}

}  // namespace sluice::tier

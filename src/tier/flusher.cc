#include "tier/flusher.h"

#include <cerrno>

namespace sluice::tier {

void Flusher::flush(FlushWaiter& waiter) {
  waiter.error = 0;
  waiter.next = next_;
  next_ = &waiter;
}

void Flusher::advance() {
  if (running_ || next_ == nullptr) {
    return;
  }
  running_ = true;
  ++count_;
  current_ = next_;
  next_ = nullptr;
  failed_ = 0;
  const std::uint32_t tiers = hooks_.take_dirty(hooks_.owner);
  open_ = 1;  // until all are submitted
  for (unsigned tier = 0; tier < most_tiers; ++tier) {
    if ((tiers >> tier & 1) != 0) {
      Io& io = ios_[tier];
      io = Io{};
      io.op = Op::flush;
      io.tier = static_cast<std::uint8_t>(tier);
      io.owner = this;
      io.done = [](Io& it) { static_cast<Flusher*>(it.owner)->io_done(it); };
      ++open_;
      hooks_.submit(hooks_.owner, io);
    }
  }
  if (--open_ == 0) {
    end();
  }
}

void Flusher::io_done(Io& io) {
  failed_ |= io.error == 0 ? 0 : std::uint32_t{1} << io.tier;
  if (--open_ == 0) {
    end();
  }
}

void Flusher::end() {
  running_ = false;
  hooks_.ended(hooks_.owner, failed_);
  FlushWaiter* waiter = current_;
  current_ = nullptr;
  while (waiter != nullptr) {
    FlushWaiter* const after = waiter->next;
    waiter->error = failed_ == 0 ? 0 : EIO;
    waiter->done(*waiter);  // which may flush again
    waiter = after;
  }
}

}  // namespace sluice::tier

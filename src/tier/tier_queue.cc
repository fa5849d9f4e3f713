#include "tier/tier_queue.h"

namespace sluice::tier {

void TierQueue::submit(Io& io, Instant now) {
  now_ = now;
  io.queued = now;
  io.finished = io.done;
  io.queue = this;
  io.done = [](Io& it) { static_cast<TierQueue*>(it.queue)->io_done(it); };
  ++open_;
  most_open_ = open_ > most_open_ ? open_ : most_open_;
  // A flush waits for nobody: what it covers has completed already.
  if (io.op == Op::flush) {
    ++counts_.flushes;
    device_.submit(io);
    return;
  }
  scheduler_->push(io);
  pump();
}

void TierQueue::pump() {
  while (Io* const io = scheduler_->pop(now_)) {
    device_.submit(*io);
  }
}

void TierQueue::io_done(Io& io) {
  --open_;
  const bool scheduled = io.op != Op::flush;
  if (scheduled) {
    scheduler_->completed(io, now_);
  }
  if (io.error != 0) {
    ++counts_.errors;
  } else if (io.op == Op::read) {
    ++counts_.reads;
    counts_.read_bytes += io.length;
  } else if (scheduled) {
    ++counts_.writes;
    counts_.written_bytes += io.op == Op::write ? io.length : 0;
  }
  // A write that failed may have reached the device in part.
  dirty = dirty || (scheduled && io.op != Op::read);
  if (scheduled && io.lane == Lane::foreground) {
    ++counts_.foreground_requests;
    counts_.foreground_seconds += std::chrono::duration<double>(now_ - io.queued).count();
  } else if (scheduled && io.error == 0) {
    (io.op == Op::read ? counts_.moved_out : counts_.moved_in) += io.length;
  }
  io.finished(io);
}

Instant TierQueue::advance(Instant now) {
  now_ = now;
  device_.poll();
  pump();
  device_.kick();
  return open_ > 0 ? scheduler_->next_event() : never;
}

}  // namespace sluice::tier

#include "run/mover.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <chrono>

#include "base/text.h"
#include "move/home.h"

namespace sluice {
namespace {

constexpr std::chrono::milliseconds again{100};  // until somebody who has a file open is looked for again

}  // namespace

std::vector<Recovered> bring_home(Area& area, bool ended, bool tell_all) {
  std::vector<Recovered> out;
  for (AreaMove& move : area.all_moves()) {
    const std::uint32_t state = move.state;
    if (state != AreaMove::closed && !(ended && state == AreaMove::elsewhere)) {
      continue;
    }
    Recovered one;
    one.path = area.text_at(move.path);
    one.put = area.text_at(move.target);
    const auto moved = move_home(one.put, one.path);
    if (!moved) {
      one.why = moved.error().text();
    } else if (*moved == Moved::done) {
      one.outcome = Recovered::Outcome::moved;
      move.state = AreaMove::home;
    } else if (*moved == Moved::busy) {
      one.why = "somebody has it open";
    } else {
      one.why = "its path is not a link to it any more";
    }
    if ((one.outcome == Recovered::Outcome::moved && tell_all) ||
        (one.outcome != Recovered::Outcome::moved && ended)) {
      out.push_back(std::move(one));
    }
  }
  return out;
}

Mover::~Mover() {
  if (thread_.joinable()) {
    finish();
  }
}

void Mover::start() {
  thread_ = std::thread([this] { serve(); });
}

void Mover::wake() {
  const std::lock_guard guard(mutex_);
  work_ = true;
  woken_.notify_one();
}

void Mover::serve() {
  sigset_t all;  // signals are for the thread that waits for the program
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::unique_lock guard(mutex_);
  while (!stop_) {
    woken_.wait(guard, [this] { return work_ || stop_; });
    work_ = false;
    guard.unlock();
    bring_home(area_, false, false);
    guard.lock();
    // One that is still open somewhere is tried again.
    for (const AreaMove& move : area_.all_moves()) {
      work_ = work_ || move.state == AreaMove::closed;
    }
    if (work_ && !stop_) {
      woken_.wait_for(guard, again, [this] { return stop_; });
    }
  }
}

std::vector<Recovered> Mover::finish() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
    woken_.notify_one();
  }
  thread_.join();
  return bring_home(area_, true, false);
}

}  // namespace sluice

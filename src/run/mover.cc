#include "run/mover.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "move/home.h"

namespace sluice {
namespace {

constexpr std::chrono::milliseconds again{100};  // until somebody who has a file open is looked for again

bool is_synced(const AreaMove& move) {
  return (move.flags & AreaMove::synced) != 0;
}

Recovered about(const AreaMove& move) {
  Recovered out;
  out.path = move.path.data();
  out.put = move.data.data();
  return out;
}

Recovered move_linked(Area& area, AreaMove& move) {
  Recovered out = about(move);
  const auto moved = move_home(out.put, out.path, is_synced(move), [&] { move.state = AreaMove::landing; });
  if (!moved || *moved != Moved::done) {
    move.state = AreaMove::there;
  }
  if (!moved) {
    out.why = moved.error().text();
  } else if (*moved == Moved::done) {
    out.outcome = Recovered::Outcome::moved;
    end_move(area, move);
  } else if (*moved == Moved::busy) {
    out.why = "somebody has it open";
  } else {
    // Somebody took the link away, or with its folder elsewhere: the data is not ours to remove.
    out.outcome = Recovered::Outcome::stays;
    end_move(area, move);
  }
  return out;
}

// Nothing is at its path. Who looks for it there meanwhile waits.
Recovered land(Area& area, AreaMove& move) {
  Recovered out = about(move);
  std::uint32_t state = AreaMove::there;
  if (!move.state.compare_exchange_strong(state, AreaMove::landing)) {
    return out;
  }
  const auto put = put_down_at(out.put, out.path, is_synced(move));
  if (put && *put == Moved::done) {
    out.outcome = Recovered::Outcome::moved;
    end_move(area, move);
    return out;
  }
  if (put && *put == Moved::kept) {
    out.why = "something else is at its path";
    const std::string beside = out.path + ".sluice-recovered";
    if (const auto saved = put_down_at(out.put, beside, is_synced(move)); saved && *saved == Moved::done) {
      out.outcome = Recovered::Outcome::beside;
      out.put = beside;
      end_move(area, move);
      return out;
    }
  }
  out.why = !put ? put.error().text() : *put == Moved::busy ? "somebody has it open" : out.why;
  move.state = AreaMove::there;
  return out;
}

}  // namespace

std::vector<Recovered> bring_home(Area& area, bool ended, bool tell_all) {
  std::vector<Recovered> out;
  for (AreaMove& move : area.all_moves()) {
    if (ended && move.state == AreaMove::landing) {
      move.state = AreaMove::there;  // whoever was about to is gone
    }
    if (move.state != AreaMove::there || (!ended && (move.flags & AreaMove::closed) == 0)) {
      continue;
    }
    Recovered one = (move.flags & AreaMove::linked) != 0 ? move_linked(area, move) : land(area, move);
    if ((one.outcome == Recovered::Outcome::moved && tell_all) ||
        (one.outcome != Recovered::Outcome::moved && (ended || one.outcome != Recovered::Outcome::failed))) {
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
    area_.moves_told = 0;
    std::vector<Recovered> told = bring_home(area_, false, false);
    guard.lock();
    std::move(told.begin(), told.end(), std::back_inserter(odd_));
    // One that is still open somewhere is tried again.
    for (const AreaMove& move : area_.all_moves()) {
      work_ = work_ || (move.state == AreaMove::there && (move.flags & AreaMove::closed) != 0);
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
  std::vector<Recovered> told = bring_home(area_, true, false);
  std::move(told.begin(), told.end(), std::back_inserter(odd_));
  return std::exchange(odd_, {});
}

}  // namespace sluice

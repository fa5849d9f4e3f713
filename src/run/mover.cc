#include "run/mover.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "move/home.h"
#include "run/beside.h"
#include "run/own_thread.h"

namespace sluice {
namespace {

constexpr std::chrono::seconds look{1};          // whether anything has been in memory for long
constexpr std::chrono::milliseconds again{100};  // until somebody who has a file open is looked for again
constexpr std::chrono::seconds longest_delay{60};
constexpr int patience = 1000;  // milliseconds, for somebody who changes its name
constexpr std::size_t most_helpers = 8;
constexpr std::size_t enough = 32;        // files for one
constexpr std::size_t enough_synced = 2;  // a file system flushes several in the time of one

bool is_synced(const AreaMove& move) {
  return (move.flags & AreaMove::synced) != 0;
}

bool change(AreaMove& move, std::uint32_t from, std::uint32_t to) {
  return move.state.compare_exchange_strong(from, to);
}

Recovered about(const AreaMove& move) {
  Recovered out;
  out.path = move.path.data();
  out.put = move.data.data();
  return out;
}

bool is_folder_of(const std::string& folder, const AreaMove& move) {
  struct stat found {};
  return lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_dev == move.device &&
         found.st_ino == move.inode;
}

// Its folder, where somebody else gave that another name beside the old one; "" where it is not found.
std::string find_folder(const std::string& before, const AreaMove& move) {
  if (is_folder_of(before, move)) {
    return before;
  }
  return find_in(folder_of(before), [&](const std::string& path) { return is_folder_of(path, move); })
      .value_or("");
}

// Its path, also where its folder got another name; "" where that is not found.
std::string home_of(const AreaMove& move) {
  const std::string path = move.path.data();
  const std::string folder = find_folder(folder_of(path), move);
  return folder.empty() ? "" : folder + path.substr(path.rfind('/'));
}

// Where the link is: somebody else may have given it another name in its folder, or the folder. "" where it
// is not found, and `gone` where it is surely in none of these.
std::string find_link(const AreaMove& move, bool& gone) {
  std::string path = move.path.data();
  const char* data = move.data.data();
  gone = false;
  if (is_link_to(path.c_str(), data)) {
    return path;
  }
  const std::string folder = find_folder(folder_of(path), move);
  std::string same = folder + path.substr(path.rfind('/'));
  if (!folder.empty() && is_link_to(same.c_str(), data)) {
    return same;
  }
  if (folder.empty()) {
    return "";
  }
  const auto found =
      find_in(folder, [&](const std::string& entry) { return is_link_to(entry.c_str(), data); });
  gone = found && found->empty();
  return found.value_or("");
}

bool is_linked(const AreaMove& move) {
  return (move.flags & AreaMove::linked) != 0;
}

// Data of which nobody knows: whoever made it was killed before its link was there, or will see that the run
// is over before it makes one. False where there is something in it that has no other name. REQUIRES: the
// Naming.
bool remove_unused(const std::string& data) {
  struct stat found {};
  return lstat(data.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
         (found.st_size == 0 || found.st_nlink > 1) && unlink(data.c_str()) == 0;
}

struct Brought {
  Recovered told;
  bool refused = false;  // nobody has it open, and trying again soon would be of no use
};

Brought bring_one(Area& area, AreaMove& move, bool ended) {
  Brought result{.told = about(move)};
  Recovered& out = result.told;
  out.outcome = Recovered::Outcome::moved;  // whatever somebody else did with it
  if (!change(move, AreaMove::there, AreaMove::moving)) {
    return result;
  }
  // Whoever brought it home may have been killed before it could say so.
  const auto landed = ended ? end_landing(out.put, home_of(move), move.arrival) : Moved::kept;
  if (landed && *landed == Moved::done) {
    end_move(area, move);
    return result;
  }
  if (!landed || *landed == Moved::busy) {
    change(move, AreaMove::moving, AreaMove::there);
    out.outcome = Recovered::Outcome::failed;
    out.why = landed ? "somebody has it open there" : landed.error().text();
    return result;
  }
  bool gone = false;
  const std::string found = ended ? find_link(move, gone) : "";
  out.path = found.empty() ? out.path : found;
  // Who has it open for reading may still say something of it. When all of the run have ended, that is over.
  const auto against = ended ? Lease::Against::writers : Lease::Against::everybody;
  std::optional<Naming> naming;  // while it lands, and until that is said
  const Commit commit{.begin =
                          [&] {
                            naming.emplace(area, out.path, patience);
                            if (!naming->good() || !is_link_to(out.path.c_str(), out.put.c_str()) ||
                                !change(move, AreaMove::moving, AreaMove::landing)) {
                              return false;
                            }
                            if (!ended && was_looked_at(move)) {
                              change(move, AreaMove::landing, AreaMove::moving);
                              return false;
                            }
                            return true;
                          },
                      .take_back =
                          [&] {
                            change(move, AreaMove::landing, AreaMove::moving);
                            naming.reset();
                          }};
  const auto moved = move_home(out.put, out.path, is_synced(move), against, move.arrival, commit);
  const bool done = moved && *moved == Moved::done;
  if (!done && !change(move, AreaMove::moving, AreaMove::there) &&
      !change(move, AreaMove::landing, AreaMove::there)) {
    return result;  // the program renamed or removed it meanwhile
  }
  move.arrival.inode = 0;  // what is at the path from now on is none of ours
  out.outcome = Recovered::Outcome::failed;
  if (!moved && moved.error().number == ENOENT && access(out.put.c_str(), F_OK) != 0 && errno == ENOENT) {
    // It came home under another name, unless a link still leads to nothing. While the program runs it may be
    // about to remove that: then it is told at the end.
    const std::string left = ended ? found : find_link(move, gone);
    const bool lost = !left.empty() && is_link_to(left.c_str(), out.put.c_str());
    if (lost && !ended) {
      out.why = "there is no such file any more";
      result.refused = true;
      return result;
    }
    struct stat home {};
    const bool removed = ended && lstat(out.path.c_str(), &home) != 0 && errno == ENOENT;
    out.outcome = lost      ? Recovered::Outcome::lost
                  : removed ? Recovered::Outcome::dropped
                            : Recovered::Outcome::moved;
    out.why = lost ? "there is no such file any more" : "";
    end_move(area, move);
  } else if (!moved) {
    out.why = moved.error().text();
    result.refused = true;
  } else if (*moved == Moved::done) {
    out.outcome = Recovered::Outcome::moved;
    end_move(area, move);
  } else if (*moved == Moved::busy) {
    out.why = "somebody has it open";
  } else if (!ended) {
    out.why = "its path is not a link to it";  // yet: the program may be renaming its folder
  } else if (!gone) {
    out.why = found.empty() ? "its folder is not where it was" : "its name is being changed";
  } else if (naming.emplace(area, out.path, patience);
             !naming->good() || is_link_to(move.path.data(), out.put.c_str())) {
    out.why = "its name is being changed";
  } else if (!is_linked(move) && remove_unused(out.put)) {
    out.outcome = Recovered::Outcome::dropped;
    end_move(area, move);
  } else {
    // Somebody took the link away: the data is not ours to remove.
    out.outcome = Recovered::Outcome::stays;
    end_move(area, move);
  }
  return result;
}

}  // namespace

bool Delays::is_due(const AreaMove& move, Clock::time_point now) const {
  const auto found = all_.find(&move);
  return found == all_.end() || found->second.generation != move.generation || found->second.until <= now;
}

void Delays::failed(const AreaMove& move, std::uint32_t generation, Clock::time_point now) {
  Delay& delay = all_[&move];
  const bool repeated = delay.generation == generation;
  delay.length = repeated ? std::min(delay.length * 2, longest_delay) : std::chrono::seconds(1);
  delay.generation = generation;
  delay.until = now + delay.length;
}

std::vector<Recovered> bring_home(Area& area, bool ended, bool tell_all, Delays* delays) {
  // By a copy of what they are sorted by: the program goes on changing that.
  struct Row {
    std::string path;
    AreaMove* move = nullptr;
    std::uint32_t generation = 0;
  };
  std::vector<Row> moves;
  const Delays::Clock::time_point now = Delays::Clock::now();
  if (ended && area.moves_live != 0) {
    const Naming all(area, patience);  // what somebody began who was killed
  }
  for (AreaMove& move : area.all_moves()) {
    if (is_placed(move)) {
      continue;
    }
    if (ended && is_left_beside(move)) {
      remove_left(move.data.data(), home_of(move), move.arrival);
    }
    if (ended && (move.state == AreaMove::landing || move.state == AreaMove::moving)) {
      move.state = AreaMove::there;  // whoever was about to is gone
    }
    const bool idle = (move.flags & AreaMove::closed) != 0 && !was_looked_at(move);
    if (move.state == AreaMove::there && (ended || idle) &&
        (delays == nullptr || delays->is_due(move, now))) {
      moves.push_back({.path = move.path.data(), .move = &move, .generation = move.generation});
    }
  }
  std::sort(moves.begin(), moves.end(), [](const Row& a, const Row& b) { return a.path < b.path; });
  std::vector<Brought> brought(moves.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < moves.size(); i = next++) {
      brought[i] = bring_one(area, *moves[i].move, ended);
    }
  };
  // Several at once: the time is that of the storage.
  const bool synced =
      (!moves.empty() && !is_in_memory(folder_of(moves.front().move->data.data()))) ||
      std::any_of(moves.begin(), moves.end(), [](const Row& row) { return is_synced(*row.move); });
  const std::size_t wanted = std::min(most_helpers, moves.size() / (synced ? enough_synced : enough));
  std::vector<std::jthread> helpers;
  for (std::size_t i = 1; i < wanted; ++i) {
    helpers.emplace_back([&] {
      block_signals();
      work();
    });
  }
  work();
  helpers.clear();
  std::vector<Recovered> done;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    if (delays != nullptr && brought[i].refused) {
      delays->failed(*moves[i].move, moves[i].generation, Delays::Clock::now());
    }
    done.push_back(std::move(brought[i].told));
  }
  std::erase_if(done, [&](const Recovered& one) {
    const Recovered::Outcome outcome = one.outcome;
    return outcome == Recovered::Outcome::dropped || (outcome == Recovered::Outcome::moved && !tell_all) ||
           (outcome == Recovered::Outcome::failed && !ended);
  });
  return done;
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

void Mover::hold(std::uint32_t whole, std::uint32_t generation, UniqueFd fd) {
  auto* parts = area_.at<AreaParts>(area_.parts);
  if (area_.parts == 0 || whole >= parts->wholes.size()) {
    return;
  }
  const std::lock_guard guard(mutex_);
  if (parts->wholes[whole].generation != generation) {
    return;  // it is together already
  }
  if (fd) {  // else there are too many, and it is looked for by its name
    held_[whole] = {.fd = std::move(fd), .generation = generation};
  }
  parts->wholes[whole].known = 1;
  work_ = true;  // somebody may have waited for that
  woken_.notify_one();
}

std::vector<Recovered> Mover::combine(When when) {
  // It stays where it is: another one comes to its place only when this whole is together.
  const auto held = [this](std::uint32_t whole, std::uint32_t generation) -> UniqueFd* {
    const std::lock_guard guard(mutex_);
    const auto found = held_.find(whole);
    return found == held_.end() || found->second.generation != generation ? nullptr : &found->second.fd;
  };
  std::vector<Recovered> out = combine_parts(area_, held, when, false);
  const std::lock_guard guard(mutex_);
  std::erase_if(held_, [this](const auto& one) {
    return area_.at<AreaParts>(area_.parts)->wholes[one.first].generation != one.second.generation;
  });
  return out;
}

// One that is still open somewhere is tried again, and later one that could not be brought home.
bool Mover::has_work() {
  const std::span<const AreaMove> moves = area_.moves_live == 0 ? std::span<AreaMove>() : area_.all_moves();
  return std::any_of(moves.begin(), moves.end(), [&, now = Delays::Clock::now()](const AreaMove& move) {
    return move.state == AreaMove::there && (move.flags & AreaMove::closed) != 0 && delays_.is_due(move, now);
  });
}

void Mover::serve() {
  block_signals();
  std::unique_lock guard(mutex_);
  while (!stop_) {
    woken_.wait_for(guard, look, [this] { return work_ || asked_ || stop_; });
    if (stop_ || (!work_ && !asked_ && !has_work() && !has_pending(area_) && area_.pending_hurry == 0)) {
      continue;
    }
    work_ = false;
    asked_ = false;
    busy_ = true;
    guard.unlock();
    area_.moves_told = 0;
    std::vector<Recovered> told = combine(When::runs);
    std::vector<Recovered> more = bring_home(area_, false, false, &delays_);
    // Where all was removed again, there are still blocks to be freed for who needs one.
    const bool hurry = area_.pending_hurry.exchange(0) != 0;
    if (hurry || has_pending(area_)) {
      std::vector<Recovered> landed = lander_.land(hurry ? Lander::Which::closed : Lander::Which::old, false);
      // What could not be put down is tried again, and said at the end.
      std::copy_if(landed.begin(), landed.end(), std::back_inserter(more),
                   [](const Recovered& one) { return one.outcome != Recovered::Outcome::failed; });
    }
    guard.lock();
    std::move(told.begin(), told.end(), std::back_inserter(odd_));
    std::move(more.begin(), more.end(), std::back_inserter(odd_));
    work_ = work_ || has_work();
    busy_ = false;
    idle_.notify_all();
    if (work_ && !stop_) {
      woken_.wait_for(guard, again, [this] { return asked_ || stop_; });
    }
  }
}

void Mover::settle() {
  std::unique_lock guard(mutex_);
  if (area_.pending != 0) {
    area_.pending_hurry = 1;
  }
  asked_ = true;
  woken_.notify_one();
  idle_.wait_for(guard, std::chrono::seconds(1), [this] { return !asked_ && !busy_; });
}

std::vector<Recovered> Mover::finish() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
    woken_.notify_one();
  }
  thread_.join();
  for (auto& told :
       {combine(When::ended), bring_home(area_, true, false), lander_.land(Lander::Which::all, false)}) {
    odd_.insert(odd_.end(), told.begin(), told.end());
  }
  return std::exchange(odd_, {});
}

}  // namespace sluice

// Brings files home that a program has closed, while it runs and afterwards: those that are elsewhere, in
// parts, or in memory alone.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/sys.h"
#include "run/combine.h"
#include "run/lander.h"
#include "run/recover.h"

namespace sluice {

// Files that could not be brought home, because the disk is full for instance: each is copied again later and
// later. By its row.
class Delays {
 public:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool is_due(const AreaMove& move, Clock::time_point now) const;
  void failed(const AreaMove& move, std::uint32_t generation, Clock::time_point now);

 private:
  struct Delay {
    std::uint32_t generation = 0;
    std::chrono::seconds length{0};
    Clock::time_point until;
  };
  std::map<const AreaMove*, Delay> all_;
};

// All files of an area that are elsewhere and not in use; `ended` where nobody will close one any more.
// Those that could not be brought home, and with `tell_all` the others as well. With `delays` not those that
// are to be tried later.
std::vector<Recovered> bring_home(Area& area, bool ended, bool tell_all, Delays* delays = nullptr);

class Mover {
 public:
  Mover(Area& area, Lander& lander) : area_(area), lander_(lander) {}
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;
  ~Mover();

  void start();
  // Something was closed.
  void wake();
  // A file that is in parts, by its row and generation.
  void hold(std::uint32_t whole, std::uint32_t generation, UniqueFd fd);
  // Has a look at all of them now, and puts down what is in memory and closed; waits for that, not for long.
  void settle();
  // The run is over; what could not be brought home.
  std::vector<Recovered> finish();

 private:
  struct Held {
    UniqueFd fd;
    std::uint32_t generation = 0;
  };

  void serve();
  std::vector<Recovered> combine(When when);
  bool has_work();

  Area& area_;
  Lander& lander_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable woken_;
  std::condition_variable idle_;
  bool work_ = false;
  bool asked_ = false;  // not to wait
  bool busy_ = false;
  bool stop_ = false;
  std::map<std::uint32_t, Held> held_;
  Delays delays_;  // of the thread
  std::vector<Recovered> odd_;
};

}  // namespace sluice

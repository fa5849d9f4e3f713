// Stands by while a program runs: holds a duplicate of each file of which something is kept back, writes that
// when another process wants to open the file, and finishes what a process left behind that ended.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/sys.h"
#include "run/lander.h"
#include "run/mover.h"
#include "run/snapshots.h"

namespace sluice {

class Keeper {
 public:
  explicit Keeper(Area& area) : area_(area), lander_(area), mover_(area, lander_) {}
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  ~Keeper();

  // REQUIRES: before the program starts.
  Status start();
  // All that is kept back now is written, as far as that can be done in a second.
  void settle();
  // The run is over: nothing is kept back any more. What went otherwise than it should.
  std::vector<Recovered> finish();

 private:
  struct Held {
    UniqueFd fd;
    std::uint32_t generation = 0;
  };

  struct Connection {
    UniqueFd fd;
    pid_t process = 0;
    bool ours = false;  // our user's
  };

  void serve();
  void receive();
  UniqueFd accept_one();
  bool hear(const Connection& from);
  void take(const struct KeeperMessage& message, UniqueFd fd);
  void look_for_leases();
  void look_for_dead();
  void retire_broken();
  void break_all();
  // Whether it is done with.
  bool retire(std::uint32_t index, int patience);
  void hold(const struct KeeperMessage& message, UniqueFd fd);
  void let_go(std::uint32_t index);
  void tell_stuck(const struct Buffer& buffer);
  void watch(pid_t process);
  void write_all_of(pid_t process);

  Area& area_;
  UniqueFd socket_;
  UniqueFd spare_;
  std::vector<Connection> connected_;  // that have not spoken yet
  UniqueFd signals_;
  UniqueFd stop_;
  UniqueFd poke_;
  std::mutex mutex_;
  std::condition_variable settled_;
  bool settling_ = false;
  Lander lander_;
  Mover mover_;
  Snapshots snapshots_;
  std::thread thread_;
  std::map<std::uint32_t, Held> held_;
  std::map<pid_t, UniqueFd> watched_;  // without a descriptor where there was none left
  std::set<std::uint32_t> broken_;     // leases that somebody waits for
  std::vector<Recovered> odd_;
};

}  // namespace sluice

#include "forecast/simulate.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <random>
#include <system_error>
#include <thread>
#include <vector>

namespace sluice {
namespace {

using Index = std::uint32_t;
constexpr Index none = std::numeric_limits<Index>::max();

// A disk or a group of members. All nodes of a group follow it, so that [at, end) is the whole group.
struct Node {
  Index parent = none;
  Index end = 0;
  Index first_disk = 0;
  Index disks = 0;      // in it
  Index tolerated = 0;  // members that may fail; a disk has none
  double exposed = 0;   // bits on it that nothing below corrects, to be read when its group is rebuilt
  double read = 0;      // the sum of them over its own members
};

// The disks of a layout; what never changes.
class Tree {
 public:
  Tree(const Layout& layout, std::uint64_t bytes) {
    add(layout, static_cast<double>(bytes) * 8, none);
    needed_ = needed(0);
  }

  [[nodiscard]] const Node& operator[](Index at) const { return nodes_[at]; }
  [[nodiscard]] Index size() const { return static_cast<Index>(nodes_.size()); }
  [[nodiscard]] Index disk(Index number) const { return disks_[number]; }
  // The fewest disks whose failure loses data.
  [[nodiscard]] Index needed() const { return needed_; }

 private:
  // Returns whether the data on it survives errors of single reads.
  bool add(const Layout& layout, double bits, Index parent) {
    if (layout.scheme == Scheme::single && !layout.members.empty()) {
      return add(layout.members.front(), bits, parent);
    }
    const Index at = open(parent);
    bool corrects = false;
    if (layout.scheme == Scheme::single) {
      disks_.push_back(at);
    } else if (layout.scheme == Scheme::raid10) {
      const double half = bits * 2 / layout.disks;
      for (unsigned i = 0; i < layout.disks; i += 2) {
        const Index pair = open(at);
        nodes_[pair].tolerated = 1;
        add(member(layout, i), half, pair);
        add(member(layout, i + 1), half, pair);
        close(pair, half, true);
      }
      corrects = true;
    } else {
      const bool shared = layout.tolerated() == 0;
      const double held = shared ? bits / layout.disks : bits;
      corrects = true;
      for (unsigned i = 0; i < layout.disks; ++i) {
        corrects = add(member(layout, i), held, at) && corrects;
      }
      nodes_[at].tolerated = layout.tolerated();
      corrects = corrects || !shared;
    }
    close(at, bits, corrects);
    return corrects;
  }

  static const Layout& member(const Layout& layout, unsigned i) {
    static const Layout plain_disk;
    return layout.members.empty() ? plain_disk : layout.members[i];
  }

  Index open(Index parent) {
    nodes_.push_back({.parent = parent, .first_disk = static_cast<Index>(disks_.size())});
    return static_cast<Index>(nodes_.size() - 1);
  }

  void close(Index at, double bits, bool corrects) {
    Node& node = nodes_[at];
    node.end = size();
    node.disks = static_cast<Index>(disks_.size()) - node.first_disk;
    node.exposed = corrects ? 0 : bits;
    if (node.parent != none) {
      nodes_[node.parent].read += node.exposed;
    }
  }

  [[nodiscard]] Index needed(Index at) const {
    std::vector<Index> members;
    for (Index i = at + 1; i < nodes_[at].end; i = nodes_[i].end) {
      members.push_back(needed(i));
    }
    if (members.empty()) {
      return 1;
    }
    std::sort(members.begin(), members.end());
    Index out = 0;
    for (Index i = 0; i <= nodes_[at].tolerated; ++i) {
      out += members[i];
    }
    return out;
  }

  std::vector<Node> nodes_;
  std::vector<Index> disks_;
  Index needed_ = 0;
};

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) {
    std::seed_seq mixed{static_cast<Index>(seed), static_cast<Index>(seed >> 32), static_cast<Index>(stream),
                        static_cast<Index>(stream >> 32)};
    engine_.seed(mixed);
  }
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }  // [0, 1)
  Index below(std::size_t count) {
    return static_cast<Index>(std::min(static_cast<double>(count - 1), unit() * static_cast<double>(count)));
  }
  double exponential(double rate) { return -std::log1p(-unit()) / rate; }

 private:
  std::mt19937_64 engine_;
};

struct Cycle {
  double seconds = 0;
  std::uint64_t events = 0;
  bool lost = false;
  long double weight = 1;  // how much likelier the biased draws were not; long for squares of tiny ones
};

// The disks in the course of one cycle after the other.
class System {
 public:
  System(const Tree& tree, const DiskModel& disk) : tree_(tree), disk_(disk), states_(tree.size()) {
    for (Index i = 0; i < tree.size(); ++i) {
      states_[i].well = tree[i].disks;
    }
  }

  // Ends early, with the cycle unfinished, when `most_events` are over.
  Cycle run(Random& random, bool biased,
            std::uint64_t most_events = std::numeric_limits<std::uint64_t>::max()) {
    Cycle out;
    const double often = static_cast<double>(tree_.needed() - 1) / tree_.needed();
    do {
      ++out.events;
      const double failures = states_[0].well / disk_.mttf;
      const double repairs = static_cast<double>(broken_.size()) / disk_.mttr;
      out.seconds += random.exponential(failures + repairs);
      if (chance(random, failures / (failures + repairs), biased && !broken_.empty() ? often : 0, out)) {
        out.lost = fail(pick(random, biased, out), random, biased, out);
      } else {
        repair(random);
      }
    } while (!broken_.empty() && !out.lost && out.events < most_events);
    reset();
    return out;
  }

 private:
  struct State {
    Index well = 0;  // disks in it that work and serve
    bool failed = false;
    bool touched = false;
    Index position = 0;  // in broken_, when members have failed
    std::vector<Index> failed_members = {};
    double unread = 0;  // bits exposed on them
  };

  // Draws an event with this probability, or with at least `least`.
  static bool chance(Random& random, double probability, double least, Cycle& cycle) {
    const double drawn = std::max(probability, least);
    const bool happens = random.unit() < drawn;
    if (drawn != probability) {
      cycle.weight *=
          static_cast<long double>(happens ? probability / drawn : (1 - probability) / (1 - drawn));
    }
    return happens;
  }

  // A working disk. All are equally likely; biased, half the draws go to groups that are broken already.
  Index pick(Random& random, bool biased, Cycle& cycle) {
    const bool steer = biased && !broken_.empty();
    const Index among = steer && random.unit() < 0.5 ? broken_[random.below(broken_.size())] : 0;
    Index disk = none;
    do {
      disk = tree_.disk(tree_[among].first_disk + random.below(tree_[among].disks));
    } while (!works(disk));
    if (steer) {
      const double natural = 1.0 / states_[0].well;
      double drawn = natural / 2;
      for (Index at = tree_[disk].parent; at != none; at = tree_[at].parent) {
        if (!states_[at].failed_members.empty()) {
          drawn += 0.5 / (static_cast<double>(broken_.size()) * states_[at].well);
        }
      }
      cycle.weight *= static_cast<long double>(natural / drawn);
    }
    return disk;
  }

  [[nodiscard]] bool works(Index at) const {
    for (; at != none; at = tree_[at].parent) {
      if (states_[at].failed) {
        return false;
      }
    }
    return true;
  }

  // Returns whether data is lost.
  bool fail(Index at, Random& random, bool biased, Cycle& cycle) {
    for (;;) {
      const Index group = tree_[at].parent;
      if (group == none) {
        return true;
      }
      count_up(at, -static_cast<std::int64_t>(states_[at].well));
      state(at).failed = true;
      State& above = state(group);
      if (above.failed_members.empty()) {
        above.position = static_cast<Index>(broken_.size());
        broken_.push_back(group);
      }
      above.failed_members.push_back(at);
      above.unread += tree_[at].exposed;
      const std::size_t failed = above.failed_members.size();
      if (failed < tree_[group].tolerated) {
        return false;
      }
      if (failed == tree_[group].tolerated) {
        const double bits = tree_[group].read - above.unread;
        const double error = bits > 0 ? -std::expm1(bits * std::log1p(-disk_.uber)) : 0;
        if (error <= 0 || !chance(random, error, biased ? 0.5 : 0, cycle)) {
          return false;
        }
      }
      // The group has lost its data, and all in it will be replaced.
      if (group != 0) {
        renew(group);
      }
      at = group;
    }
  }

  void repair(Random& random) {
    const Index group = broken_[random.below(broken_.size())];
    std::vector<Index>& failed = states_[group].failed_members;
    std::swap(failed[random.below(failed.size())], failed.back());
    const Index at = failed.back();
    failed.pop_back();
    states_[at].failed = false;
    states_[group].unread -= tree_[at].exposed;
    count_up(at, tree_[at].disks);
    if (failed.empty()) {
      mend(group);
    }
  }

  // Of a node and all that it is part of.
  void count_up(Index at, std::int64_t change) {
    for (; at != none; at = tree_[at].parent) {
      State& one = state(at);
      one.well = static_cast<Index>(one.well + change);
    }
  }

  // Takes a group off those that are broken.
  void mend(Index group) {
    const Index position = states_[group].position;
    broken_[position] = broken_.back();
    states_[broken_[position]].position = position;
    broken_.pop_back();
    states_[group].unread = 0;
  }

  // All in it, and its own list of failed members, as if new; how many of its disks worked is still to be
  // taken off what it is part of.
  void renew(Index group) {
    for (Index i = group; i < tree_[group].end; ++i) {
      State& one = states_[i];
      if (!one.failed_members.empty()) {
        one.failed_members.clear();
        mend(i);
      }
      if (i != group) {
        one.failed = false;
        one.well = tree_[i].disks;
      }
    }
  }

  State& state(Index at) {
    State& out = states_[at];
    if (!out.touched) {
      out.touched = true;
      touched_.push_back(at);
    }
    return out;
  }

  void reset() {
    for (const Index at : touched_) {
      states_[at] = State{.well = tree_[at].disks, .failed_members = std::move(states_[at].failed_members)};
      states_[at].failed_members.clear();
    }
    touched_.clear();
    broken_.clear();
  }

  const Tree& tree_;
  const DiskModel& disk_;
  std::vector<State> states_;
  std::vector<Index> broken_;  // groups that work with failed members, which they repair
  std::vector<Index> touched_;
};

// Trials are summed in blocks, each with its own random numbers, and the blocks in order: who did which does
// not matter.
std::uint64_t size_of_block(std::uint64_t trials) {
  constexpr std::uint64_t smallest = 16;  // seeding takes as long as a few trials
  constexpr std::uint64_t blocks = 1024;
  return std::max(smallest, trials / blocks);
}

struct Sums {
  long double time = 0;
  long double time_squares = 0;
  long double loss = 0;
  long double loss_squares = 0;
  std::uint64_t losses = 0;
};

Sums run_block(System& system, Random random, std::uint64_t trials, bool biased) {
  Sums out;
  for (std::uint64_t i = 0; i < trials; ++i) {
    const auto seconds = static_cast<long double>(system.run(random, false).seconds);
    out.time += seconds;
    out.time_squares += seconds * seconds;
    if (const Cycle cycle = system.run(random, biased); cycle.lost) {
      out.loss += cycle.weight;
      out.loss_squares += cycle.weight * cycle.weight;
      ++out.losses;
    }
  }
  return out;
}

enum class Loss { common, rare, out_of_reach };

Loss pilot(System& system, std::uint64_t seed) {
  constexpr int cycles = 1000;
  constexpr std::uint64_t most_events = 10'000'000;
  Random random(seed, std::numeric_limits<std::uint64_t>::max());
  int losses = 0;
  std::uint64_t events = 0;
  for (int i = 0; i < cycles; ++i) {
    const Cycle cycle = system.run(random, false, most_events - events);
    losses += cycle.lost ? 1 : 0;
    events += cycle.events;
    if (events >= most_events) {
      return Loss::out_of_reach;
    }
  }
  return losses < cycles / 5 ? Loss::rare : Loss::common;
}

// Of the logarithm of a ratio of two independent means (delta method), so that the bounds are never negative.
std::optional<Simulation::Estimate> estimate_of(const Sums& sums, std::uint64_t trials) {
  if (sums.losses < 2 || !(sums.loss > 0)) {
    return std::nullopt;
  }
  constexpr double normal_95 = 1.959964;
  const auto count = static_cast<long double>(trials);
  const auto relative_variance = [&](long double sum, long double squares) {
    return std::max(0.0L, squares * count / (sum * sum) - 1) / (count - 1);
  };
  const auto mttdl = static_cast<double>(sums.time / sums.loss);
  const auto deviation = static_cast<double>(std::sqrt(relative_variance(sums.time, sums.time_squares) +
                                                       relative_variance(sums.loss, sums.loss_squares)));
  return Simulation::Estimate{.mttdl = mttdl,
                              .low = mttdl * std::exp(-normal_95 * deviation),
                              .high = mttdl * std::exp(normal_95 * deviation)};
}

}  // namespace

Simulation simulate(const Layout& layout, const DiskModel& disk, std::uint64_t bytes,
                    const SimulationOptions& options) {
  const Tree tree(layout, bytes);
  System own(tree, disk);
  const Loss loss = pilot(own, options.seed);
  if (loss == Loss::out_of_reach) {
    return {.estimate = std::nullopt, .losses = 0, .biased = false, .endless = true};
  }
  const bool biased = loss == Loss::rare;
  const std::uint64_t block_size = size_of_block(options.trials);
  std::vector<Sums> blocks((options.trials + block_size - 1) / block_size);
  std::atomic<std::size_t> next = 0;
  std::atomic<std::uint64_t> done = 0;
  const auto work = [&](System& system, bool tells) {
    for (std::size_t i = next++; i < blocks.size(); i = next++) {
      const std::uint64_t trials = std::min(block_size, options.trials - i * block_size);
      blocks[i] = run_block(system, Random(options.seed, i), trials, biased);
      done += trials;
      if (tells && options.progress) {
        options.progress(done);
      }
    }
  };
  const unsigned wanted =
      options.threads > 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t i = 1; i < std::min<std::size_t>(wanted, blocks.size()); ++i) {
        others.emplace_back([&] {
          System system(tree, disk);
          work(system, false);
        });
      }
    } catch (const std::system_error&) {
      // No more threads to be had: those there are do it all.
    }
    work(own, true);
  }
  Sums sums;
  for (const Sums& block : blocks) {
    sums.time += block.time;
    sums.time_squares += block.time_squares;
    sums.loss += block.loss;
    sums.loss_squares += block.loss_squares;
    sums.losses += block.losses;
  }
  return {.estimate = estimate_of(sums, options.trials),
          .losses = sums.losses,
          .biased = biased,
          .endless = false};
}

}  // namespace sluice

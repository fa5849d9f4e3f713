#include "forecast/chain.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace sluice {
namespace {

// Of a chain that is no line of states: beyond, solving it takes longer than anybody waits.
constexpr std::size_t most_states = 1000;
// Of one whose distribution is worked out: matrices are squared up to a thousand times.
constexpr std::size_t most_dense_states = 64;

// Members that are alike and, as they are exchangeable, only counted.
struct Kind {
  unsigned count = 0;
  Chain chain;      // of one of them
  double bits = 0;  // that a rebuild of their group reads from one of them and that nobody corrects
};

Chain disk_chain(double mttf) {
  return {.moves = {{}}, .loss = {1 / mttf}, .approximate = false};
}

// How many members are in which state, kind after kind; those missing from a kind's count have failed.
using Counts = std::vector<unsigned>;

class Group {
 public:
  Group(const std::vector<Kind>& kinds, unsigned tolerated, const DiskModel& disk)
      : kinds_(kinds), tolerated_(tolerated), disk_(disk) {
    std::size_t width = 0;
    for (const Kind& kind : kinds_) {
      first_.push_back(width);
      width += kind.chain.moves.size();
      chain_.approximate = chain_.approximate || kind.chain.approximate;
    }
    Counts all_well(width);
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      all_well[first_[k]] = kinds_[k].count;
    }
    // A line of states, whatever its length, is solved at once.
    const bool line = kinds_.size() == 1 && (width == 1 || (width == 2 && tolerated_ == 0));
    limit_ = line ? static_cast<std::size_t>(-1) : most_states;
    number_of(all_well);
  }

  // Nothing when there are too many states.
  std::optional<Chain> build() && {
    for (std::size_t at = 0; at < states_.size(); ++at) {
      if (states_.size() > limit_) {
        return std::nullopt;
      }
      leave(at, Counts(states_[at]));
    }
    return std::move(chain_);
  }

 private:
  void leave(std::size_t at, const Counts& state) {
    std::vector<unsigned> failed;
    unsigned all_failed = 0;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      failed.push_back(kinds_[k].count - well(state, k));
      all_failed += failed.back();
    }
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const Chain& member = kinds_[k].chain;
      for (std::size_t s = 0; s < member.moves.size(); ++s) {
        const unsigned count = state[first_[k] + s];
        if (count == 0) {
          continue;
        }
        Counts next = state;
        --next[first_[k] + s];
        fail(at, next, all_failed + 1, count * member.loss[s]);
        for (const Chain::Move& move : member.moves[s]) {
          Counts changed = next;
          ++changed[first_[k] + move.to];
          go(at, changed, count * move.rate);
        }
      }
      if (failed[k] > 0) {
        Counts next = state;
        ++next[first_[k]];
        go(at, next, failed[k] / (all_failed * disk_.mttr));
      }
    }
  }

  void fail(std::size_t at, const Counts& next, unsigned failed, double rate) {
    if (failed > tolerated_) {
      chain_.loss[at] += rate;
      return;
    }
    if (failed < tolerated_) {
      go(at, next, rate);
      return;
    }
    double bits = 0;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      bits += kinds_[k].bits * well(next, k);
    }
    const double log_good = bits == 0 ? 0 : bits * std::log1p(-disk_.uber);
    chain_.loss[at] += rate * -std::expm1(log_good);
    go(at, next, rate * std::exp(log_good));
  }

  void go(std::size_t from, const Counts& to, double rate) {
    if (rate > 0) {
      const std::size_t number = number_of(to);  // may move what `moves` holds
      chain_.moves[from].push_back({.to = number, .rate = rate});
    }
  }

  [[nodiscard]] unsigned well(const Counts& state, std::size_t k) const {
    unsigned out = 0;
    for (std::size_t s = 0; s < kinds_[k].chain.moves.size(); ++s) {
      out += state[first_[k] + s];
    }
    return out;
  }

  std::size_t number_of(const Counts& state) {
    const auto [found, is_new] = numbers_.try_emplace(state, states_.size());
    if (is_new) {
      states_.push_back(state);
      chain_.moves.emplace_back();
      chain_.loss.push_back(0);
    }
    return found->second;
  }

  const std::vector<Kind>& kinds_;
  unsigned tolerated_;
  const DiskModel& disk_;
  std::vector<std::size_t> first_;  // where a kind's counts begin
  std::size_t limit_ = 0;
  std::map<Counts, std::size_t> numbers_;
  std::vector<Counts> states_;
  Chain chain_;
};

// Layouts that are the same, with their number.
std::vector<std::pair<const Layout*, unsigned>> alike(const std::vector<Layout>& members) {
  std::vector<std::pair<const Layout*, unsigned>> out;
  for (const Layout& member : members) {
    const auto same =
        std::find_if(out.begin(), out.end(), [&](const auto& kind) { return *kind.first == member; });
    if (same == out.end()) {
      out.emplace_back(&member, 1);
    } else {
      ++same->second;
    }
  }
  return out;
}

std::uint64_t held_by_member(const Layout& layout, std::uint64_t bytes) {
  return layout.redundant() || layout.members.empty() ? bytes : bytes / layout.members.size();
}

// Stochastic matrices, row by row.
class Matrix {
 public:
  explicit Matrix(std::size_t size) : size_(size), cells_(size * size) {}

  double& at(std::size_t row, std::size_t column) { return cells_[row * size_ + column]; }
  [[nodiscard]] double at(std::size_t row, std::size_t column) const { return cells_[row * size_ + column]; }

  [[nodiscard]] Matrix times(const Matrix& right) const {
    Matrix out(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t k = 0; k < size_; ++k) {
        if (const double factor = at(i, k); factor > 0) {
          for (std::size_t j = 0; j < size_; ++j) {
            out.at(i, j) += factor * right.at(k, j);
          }
        }
      }
    }
    return out;
  }

  void add(const Matrix& other, double factor) {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      cells_[i] += factor * other.cells_[i];
    }
  }

  // Rounding would make the rows sum to more or less than 1, and squaring doubles the difference each time.
  void normalize() {
    for (std::size_t i = 0; i < size_; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < size_; ++j) {
        sum += at(i, j);
      }
      for (std::size_t j = 0; j < size_; ++j) {
        at(i, j) /= sum;
      }
    }
  }

 private:
  std::size_t size_;
  std::vector<double> cells_;
};

}  // namespace

Chain chain_of(const Layout& layout, const DiskModel& disk, std::uint64_t bytes) {
  if (layout.scheme == Scheme::raid10) {
    return chain_of(in_pairs(layout), disk, bytes);
  }
  if (layout.scheme == Scheme::single) {
    return layout.members.empty() ? disk_chain(disk.mttf) : chain_of(layout.members.front(), disk, bytes);
  }
  const double bits = static_cast<double>(bytes) * 8;
  std::vector<Kind> kinds;
  if (layout.members.empty()) {
    kinds.push_back({.count = layout.disks, .chain = disk_chain(disk.mttf), .bits = bits});
  }
  for (const auto& [member, count] : alike(layout.members)) {
    kinds.push_back({.count = count,
                     .chain = chain_of(*member, disk, held_by_member(layout, bytes)),
                     .bits = survives_one(*member) ? 0 : bits});
  }
  if (auto whole = Group(kinds, layout.tolerated(), disk).build()) {
    return std::move(*whole);
  }
  for (Kind& kind : kinds) {
    kind.chain = disk_chain(mean_time(kind.chain));
  }
  auto coarse = Group(kinds, layout.tolerated(), disk).build();
  if (!coarse) {  // many unlike members: they stand in line as one, each with its share of the failures
    double rate = 0;
    double all_bits = 0;
    for (const Kind& kind : kinds) {
      rate += kind.count * kind.chain.loss.front();
      all_bits += kind.count * kind.bits;
    }
    const std::vector<Kind> one = {
        {.count = layout.disks, .chain = disk_chain(layout.disks / rate), .bits = all_bits / layout.disks}};
    coarse = Group(one, layout.tolerated(), disk).build();
  }
  coarse->approximate = true;
  return std::move(*coarse);
}

// States are eliminated from the last on: what passes through one becomes loss, time and moves of the states
// that lead to it (Grassmann, Taksar and Heyman). A way back to where it came from changes nothing but the
// time.
double mean_time(const Chain& chain) {
  const std::size_t count = chain.moves.size();
  std::size_t band = 1;
  for (std::size_t i = 0; i < count; ++i) {
    for (const Chain::Move& move : chain.moves[i]) {
      band = std::max(band, move.to > i ? move.to - i : i - move.to);
    }
  }
  const std::size_t width = 2 * band + 1;
  std::vector<double> cells(count * width);
  const auto rate = [&](std::size_t from, std::size_t to) -> double& {
    return cells[from * width + (to + band - from)];
  };
  for (std::size_t i = 0; i < count; ++i) {
    for (const Chain::Move& move : chain.moves[i]) {
      rate(i, move.to) += move.rate;
    }
  }
  std::vector<double> loss = chain.loss;
  std::vector<double> time(count, 1);  // spent per second in this state, visits to eliminated states included
  for (std::size_t last = count - 1; last > 0; --last) {
    const std::size_t low = last > band ? last - band : 0;
    double out = loss[last];
    for (std::size_t j = low; j < last; ++j) {
      out += rate(last, j);
    }
    for (std::size_t i = low; i < last; ++i) {
      const double share = rate(i, last) / out;
      if (share == 0) {
        continue;
      }
      loss[i] += share * loss[last];
      time[i] += share * time[last];
      for (std::size_t j = low; j < last; ++j) {
        if (j != i) {
          rate(i, j) += share * rate(last, j);
        }
      }
    }
  }
  return time[0] / loss[0];
}

double lost_within(const Chain& chain, double seconds) {
  const std::size_t count = chain.moves.size();
  std::vector<double> leaving = chain.loss;
  for (std::size_t i = 0; i < count; ++i) {
    for (const Chain::Move& move : chain.moves[i]) {
      leaving[i] += move.rate;
    }
  }
  const double fastest = *std::max_element(leaving.begin(), leaving.end());
  if (!(seconds > 0) || !(fastest > 0)) {
    return 0;
  }
  // A step so short that few events fall into it, by uniformization; then doubled until it is the whole time.
  const int doublings = std::max(0, std::ilogb(fastest) + std::ilogb(seconds) + 3);
  const double expected = std::ldexp(seconds, -doublings) * fastest;
  Matrix jump(count + 1);
  for (std::size_t i = 0; i < count; ++i) {
    jump.at(i, i) = 1 - leaving[i] / fastest;
    jump.at(i, count) += chain.loss[i] / fastest;
    for (const Chain::Move& move : chain.moves[i]) {
      jump.at(i, move.to) += move.rate / fastest;
    }
  }
  jump.at(count, count) = 1;
  Matrix step(count + 1);
  Matrix power(count + 1);
  for (std::size_t i = 0; i <= count; ++i) {
    power.at(i, i) = 1;
  }
  double weight = std::exp(-expected);
  // At least as many events as there are states, so that the last state's tiny share is not cut off.
  const int events = static_cast<int>(count) + 30;
  for (int k = 0; k <= events; ++k) {
    step.add(power, weight);
    power = power.times(jump);
    weight *= expected / (k + 1);
  }
  step.normalize();
  for (int i = 0; i < doublings; ++i) {
    step = step.times(step);
    step.normalize();
  }
  return step.at(0, count);
}

Lifetime lost_within(const Layout& layout, const DiskModel& disk, std::uint64_t bytes, double seconds) {
  if (layout.scheme == Scheme::raid10) {
    return lost_within(in_pairs(layout), disk, bytes, seconds);
  }
  if (!layout.redundant()) {
    Lifetime out;
    double log_kept = layout.members.empty() ? -seconds / disk.mttf * layout.disks : 0;
    for (const auto& [member, count] : alike(layout.members)) {
      const Lifetime one = lost_within(*member, disk, held_by_member(layout, bytes), seconds);
      log_kept += count * std::log1p(-one.loss);
      out.exponential = out.exponential || one.exponential;
      out.approximate = out.approximate || one.approximate;
    }
    out.loss = -std::expm1(log_kept);
    return out;
  }
  const Chain chain = chain_of(layout, disk, bytes);
  const bool small = chain.moves.size() <= most_dense_states;
  return {.loss = small ? lost_within(chain, seconds) : loss_probability(mean_time(chain), seconds),
          .exponential = !small,
          .approximate = chain.approximate};
}

}  // namespace sluice

// Tells sequential, strided and random requests apart, in fixed memory and time a request.
//
// A follower is told of the requests of one user of a file: one direction of one thread on one open file. It
// follows several streams at once, so that a program that reads here and there by turns is still sequential.
// Requests that continue each other are a run; a jump is the distance from the begin of a run to the begin of
// the next, so that records of several requests at equal distances are strided too.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sluice {

// The most frequent of many values (Misra and Gries): exact while there are at most `slots` of them; above
// that a count is too low by at most all / (slots + 1).
template <std::size_t slots>
class Frequent {
 public:
  struct Entry {
    std::int64_t value = 0;
    std::uint64_t count = 0;
  };

  void add(std::int64_t value, std::uint64_t count = 1) {
    Entry* free = nullptr;
    for (Entry& entry : entries_) {
      if (entry.count > 0 && entry.value == value) {
        entry.count += count;
        return;
      }
      free = entry.count == 0 ? &entry : free;
    }
    if (free != nullptr) {
      *free = {.value = value, .count = count};
      return;
    }
    exact_ = false;
    std::uint64_t least = count;
    for (const Entry& entry : entries_) {
      least = entry.count < least ? entry.count : least;
    }
    for (Entry& entry : entries_) {
      entry.count -= least;
    }
    if (count > least) {
      add(value, count - least);
    }
  }
  void add(const Frequent& other) {
    for (const Entry& entry : other.entries_) {
      if (entry.count > 0) {
        add(entry.value, entry.count);
      }
    }
    exact_ = exact_ && other.exact_;
  }
  // Whether one more of that value keeps all counts exact.
  [[nodiscard]] bool has_room_for(std::int64_t value) const {
    for (const Entry& entry : entries_) {
      if (entry.count == 0 || entry.value == value) {
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] Entry top() const {
    Entry out;
    for (const Entry& entry : entries_) {
      out = entry.count > out.count ? entry : out;
    }
    return out;
  }
  [[nodiscard]] const std::array<Entry, slots>& entries() const { return entries_; }
  [[nodiscard]] bool exact() const { return exact_; }

 private:
  std::array<Entry, slots> entries_ = {};
  bool exact_ = true;
};

struct PatternCounts {
  std::uint64_t first = 0;        // requests of users that came to the file
  std::uint64_t first_begin = 0;  // those of them at the file's begin
  std::uint64_t sequential = 0;   // that go on where the one before ended, or begin that run again
  std::uint64_t interleaved = 0;  // the same of an earlier run that was left for another
  std::uint64_t jumps = 0;        // all others
  std::uint64_t bytes = 0;
  Frequent<6> distances;  // of the jumps

  void add(const PatternCounts& other);
  [[nodiscard]] std::uint64_t requests() const { return first + sequential + interleaved + jumps; }
};

enum class AccessPattern { none, sequential, strided, random, backward, mixed };

struct PatternJudgement {
  AccessPattern pattern = AccessPattern::none;
  std::int64_t distance = 0;    // of the most frequent jump
  double sequential = -1;       // share of requests that go on; -1 = there are too few to tell
  double strided = -1;          // share of jumps that have that distance
  std::uint64_t looked_at = 0;  // requests that tell something
  std::uint64_t agree = 0;      // those that say what the pattern says
};

// Cuts between the patterns; bench/learn finds them from programs whose pattern is known.
inline constexpr double sequential_share = 0.65;
inline constexpr double random_share = 0.55;  // at most so many go on; above it is neither
inline constexpr double strided_share = 0.5;
inline constexpr double few_jumps = 0.02;

// `slots` = requests that the file has room for side by side: in a small file a request meets an earlier run
// by chance.
PatternJudgement judge(const PatternCounts& counts, std::uint64_t slots);

// The same where no more was counted than requests that follow, that keep the distance, and others: what most
// of them are, of which a tenth may be otherwise. "" = there are none.
std::string_view pattern_of(std::uint64_t sequential, std::uint64_t strided, std::uint64_t random);

class PatternFollower {
 public:
  void count(PatternCounts& counts, std::int64_t begin, std::int64_t bytes);

 private:
  struct Head {
    std::int64_t run = -1;  // where the run began; -1 = none
    std::int64_t end = 0;
  };
  std::array<Head, 4> heads_ = {};  // the one that was used last first
};

}  // namespace sluice

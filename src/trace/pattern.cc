#include "trace/pattern.h"

#include <algorithm>
#include <cstdlib>

namespace sluice {
namespace {

double share_of(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? -1 : static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

void PatternCounts::add(const PatternCounts& other) {
  first += other.first;
  first_begin += other.first_begin;
  sequential += other.sequential;
  interleaved += other.interleaved;
  jumps += other.jumps;
  bytes += other.bytes;
  distances.add(other.distances);
}

void PatternFollower::count(PatternCounts& counts, std::int64_t begin, std::int64_t bytes) {
  const std::int64_t end = begin + bytes;
  counts.bytes += static_cast<std::uint64_t>(bytes);
  std::size_t found = heads_.size();
  std::size_t nearest = 0;
  for (std::size_t i = 0; i < heads_.size() && heads_[i].run >= 0; ++i) {
    if (begin == heads_[i].end || begin == heads_[i].run) {
      found = i;
      break;
    }
    if (std::abs(begin - heads_[i].run) < std::abs(begin - heads_[nearest].run)) {
      nearest = i;
    }
  }
  Head head{.run = begin, .end = end};
  if (found < heads_.size()) {
    head.run = heads_[found].run;
    (found == 0 ? counts.sequential : counts.interleaved) += 1;
  } else if (heads_[0].run < 0) {
    counts.first += 1;
    counts.first_begin += begin == 0 ? 1 : 0;
  } else {
    counts.jumps += 1;
    counts.distances.add(begin - heads_[nearest].run);
    // A run that was the last one may be gone on with later; one that is left in equal steps is not.
    found = heads_.size() - 1;
  }
  // The head that was found, or the oldest, gives way to the one in front.
  std::move_backward(heads_.begin(),
                     heads_.begin() + static_cast<std::ptrdiff_t>(std::min(found, heads_.size() - 1)),
                     heads_.begin() + static_cast<std::ptrdiff_t>(std::min(found, heads_.size() - 1)) + 1);
  heads_[0] = head;
}

PatternJudgement judge(const PatternCounts& counts, std::uint64_t slots) {
  PatternJudgement out;
  // With room for a few requests only, that one meets an earlier run says nothing.
  constexpr std::uint64_t few_slots = 64;
  const std::uint64_t interleaved = slots < few_slots ? 0 : counts.interleaved;
  const std::uint64_t goes_on = counts.sequential + interleaved + counts.first_begin;
  out.looked_at = counts.sequential + counts.interleaved + counts.jumps + counts.first_begin;
  if (out.looked_at == 0) {
    return out;
  }
  const auto top = counts.distances.top();
  out.distance = top.value;
  out.sequential = share_of(goes_on, out.looked_at);
  out.strided = share_of(top.count, counts.jumps);
  const double jumps = share_of(counts.jumps, out.looked_at);
  // Jumps alike are no chance where each user of the file makes several of them.
  const std::uint64_t some = std::max<std::uint64_t>(4, 2 * counts.first);
  // Runs as long as the jumps leave nothing out: the end of one is only written again with the next.
  const double run = static_cast<double>(counts.bytes) / static_cast<double>(counts.jumps + counts.first + 1);
  const bool covers = top.value > 0 && static_cast<double>(top.value) <= 1.25 * run;
  if (!covers && top.count >= some && out.strided >= strided_share && jumps >= few_jumps) {
    out.pattern = top.value > 0 ? AccessPattern::strided : AccessPattern::backward;
    out.agree = static_cast<std::uint64_t>(out.strided * static_cast<double>(out.looked_at));
  } else if (out.sequential >= sequential_share) {
    out.pattern = AccessPattern::sequential;
    out.agree = goes_on;
  } else if (out.sequential <= random_share) {
    out.pattern = AccessPattern::random;
    out.agree = out.looked_at - std::min(goes_on, out.looked_at);
  } else {
    out.pattern = AccessPattern::mixed;
    out.agree = out.looked_at - std::min(goes_on, out.looked_at);
  }
  return out;
}

std::string_view pattern_of(std::uint64_t sequential, std::uint64_t strided, std::uint64_t random) {
  const std::uint64_t all = sequential + strided + random;
  const auto most = [&](std::uint64_t count) { return count * 10 >= all * 9; };
  return all == 0               ? ""
         : most(sequential)     ? "sequential"
         : most(strided)        ? "strided"
         : sequential * 2 < all ? "random"
                                : "mixed";
}

}  // namespace sluice

// The baseline that hints are compared with (HintStor 4.1): at each interval the hottest chunks go to the
// fastest tier, and where that is full the ones that were longest not used make room, tier by tier.
#include <algorithm>

#include "tier/policy.h"

namespace sluice::tier {

std::vector<Proposal> propose_by_heat(const PolicyView& view, const PolicySettings& settings) {
  std::vector<Proposal> promotions;
  unsigned fastest = 0;
  while (fastest < view.tiers.size() && !view.tiers[fastest].available) {
    ++fastest;
  }
  if (fastest == view.tiers.size()) {
    return {};
  }
  std::vector<std::uint64_t> hot;
  for (std::uint64_t chunk = 0; chunk < view.entries.size(); ++chunk) {
    if (view.entries[chunk].mapped() && view.heat[chunk].score >= static_cast<float>(settings.threshold)) {
      hot.push_back(chunk);
    }
  }
  // No more than fit.
  const auto keep_free =
      static_cast<std::uint64_t>(settings.keep_free * static_cast<double>(view.tiers[fastest].slots));
  const std::size_t most = std::min<std::uint64_t>(settings.top, view.tiers[fastest].slots - keep_free);
  const std::size_t count = std::min(most, hot.size());
  std::partial_sort(hot.begin(), hot.begin() + static_cast<std::ptrdiff_t>(count), hot.end(),
                    [&view](std::uint64_t a, std::uint64_t b) {
                      const float x = view.heat[a].score;
                      const float y = view.heat[b].score;
                      return x != y ? x > y : a < b;
                    });
  hot.resize(count);

  std::vector<bool> keep(view.entries.size());
  for (const std::uint64_t chunk : hot) {
    keep[chunk] = true;
    const Entry& entry = view.entries[chunk];
    if (entry.place().tier > fastest && !entry.hints().pinned) {
      promotions.push_back({.operation = {.chunk = chunk,
                                          .action = Action::migrate,
                                          .reason = Reason::promotion,
                                          .from = entry.place().tier,
                                          .to = static_cast<std::uint8_t>(fastest)},
                            .score = view.heat[chunk].score,
                            .last = entry.last});
    }
  }
  std::vector<std::uint64_t> wanted(view.tiers.size());
  for (unsigned tier = 0; tier < view.tiers.size(); ++tier) {
    wanted[tier] =
        static_cast<std::uint64_t>(settings.keep_free * static_cast<double>(view.tiers[tier].slots));
  }
  wanted[fastest] += promotions.size();
  std::vector<Proposal> out;
  demote_oldest(view, wanted, keep, out);
  out.insert(out.end(), promotions.begin(), promotions.end());
  return out;
}

}  // namespace sluice::tier

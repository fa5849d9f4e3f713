// Chunks go where hints want them (HintStor 3.3): first down, which makes room, then up while there is room,
// small files before large ones; at last full tiers give what was longest not used.
#include <algorithm>

#include "tier/policy.h"

namespace sluice::tier {

std::vector<Proposal> propose_by_hints(const PolicyView& view, const PolicySettings& settings) {
  std::vector<Proposal> down;
  std::vector<Proposal> up;
  std::vector<bool> keep(view.entries.size());
  std::vector<std::uint64_t> room(view.tiers.size());
  for (unsigned tier = 0; tier < view.tiers.size(); ++tier) {
    room[tier] = view.tiers[tier].available ? view.tiers[tier].free : 0;
  }
  for (std::uint64_t chunk = 0; chunk < view.entries.size(); ++chunk) {
    const Entry& entry = view.entries[chunk];
    const std::uint8_t wanted = view.placement[entry.label & 0xff];
    if (!entry.mapped() || wanted == no_tier || wanted >= view.tiers.size() ||
        !view.tiers[wanted].available) {
      continue;
    }
    if (wanted == entry.place().tier) {
      keep[chunk] = true;
      continue;
    }
    if (entry.hints().pinned) {
      continue;
    }
    auto& list = wanted > entry.place().tier ? down : up;
    list.push_back({.operation = {.chunk = chunk,
                                  .action = Action::migrate,
                                  .reason = Reason::hint,
                                  .from = entry.place().tier,
                                  .to = wanted},
                    .score = view.heat[chunk].score,
                    .last = entry.last});
  }
  // Metadata, then the smallest files, then what is used most.
  std::sort(up.begin(), up.end(), [&view](const Proposal& a, const Proposal& b) {
    const Label x = view.entries[a.operation.chunk].hints();
    const Label y = view.entries[b.operation.chunk].hints();
    const auto rank = [](const Label& label) { return std::pair(label.kind == 1 ? 0 : 1, label.bucket); };
    return rank(x) != rank(y) ? rank(x) < rank(y) : a.score > b.score;
  });
  std::vector<Proposal> out;
  for (const Proposal& proposal : down) {
    if (room[proposal.operation.to] > 0) {
      --room[proposal.operation.to];
      ++room[proposal.operation.from];
      out.push_back(proposal);
    }
  }
  for (const Proposal& proposal : up) {
    if (room[proposal.operation.to] > 0) {
      --room[proposal.operation.to];
      ++room[proposal.operation.from];
      out.push_back(proposal);
    }
  }
  std::vector<std::uint64_t> wanted(view.tiers.size());
  for (unsigned tier = 0; tier < view.tiers.size(); ++tier) {
    wanted[tier] =
        static_cast<std::uint64_t>(settings.keep_free * static_cast<double>(view.tiers[tier].slots));
  }
  // Chunks that are leaving anyway are not counted twice.
  for (const Proposal& proposal : out) {
    keep[proposal.operation.chunk] = true;
  }
  demote_oldest(view, wanted, keep, out);
  return out;
}

}  // namespace sluice::tier

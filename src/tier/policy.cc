#include "tier/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace sluice::tier {

std::span<const Policy> policies() {
  static constexpr std::array<Policy, 3> all = {{
      {"heat", "the hottest chunks to the fastest tier, those longest not used out of it", propose_by_heat},
      {"hints", "chunks to where hints want them, then those longest not used out of full tiers",
       propose_by_hints},
      {"none", "nothing moves by itself", propose_nothing},
  }};
  return all;
}

Result<const Policy*> find_policy(std::string_view name) {
  std::string names;
  for (const Policy& policy : policies()) {
    if (policy.name == name) {
      return &policy;
    }
    names += names.empty() ? policy.name : fmt::format(", {}", policy.name);
  }
  return bad_input(fmt::format("there is no policy {}", quote(name)), fmt::format("give one of {}", names));
}

std::vector<Proposal> propose_nothing(const PolicyView&, const PolicySettings&) {
  return {};
}

void demote_oldest(const PolicyView& view, std::span<const std::uint64_t> wanted,
                   const std::vector<bool>& keep, std::vector<Proposal>& out) {
  std::vector<std::uint64_t> chunks;
  // What comes down from above needs room as well.
  std::uint64_t coming = 0;
  for (unsigned tier = 0; tier + 1 < view.tiers.size(); ++tier) {
    const std::uint64_t need = wanted[tier] + coming;
    coming = 0;
    if (!view.tiers[tier].available || view.tiers[tier].free >= need) {
      continue;
    }
    unsigned to = tier + 1;
    while (to < view.tiers.size() && !view.tiers[to].available) {
      ++to;
    }
    if (to == view.tiers.size()) {
      return;
    }
    chunks.clear();
    for (std::uint64_t chunk = 0; chunk < view.entries.size(); ++chunk) {
      const Entry& entry = view.entries[chunk];
      if (entry.place().tier == tier && !keep[chunk] && !entry.hints().pinned) {
        chunks.push_back(chunk);
      }
    }
    const std::size_t count = std::min<std::uint64_t>(need - view.tiers[tier].free, chunks.size());
    std::partial_sort(chunks.begin(), chunks.begin() + static_cast<std::ptrdiff_t>(count), chunks.end(),
                      [&view](std::uint64_t a, std::uint64_t b) {
                        const Entry& x = view.entries[a];
                        const Entry& y = view.entries[b];
                        return x.last != y.last ? x.last < y.last : view.heat[a].score < view.heat[b].score;
                      });
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t chunk = chunks[i];
      out.push_back({.operation = {.chunk = chunk,
                                   .action = Action::migrate,
                                   .reason = Reason::demotion,
                                   .from = static_cast<std::uint8_t>(tier),
                                   .to = static_cast<std::uint8_t>(to)},
                     .score = view.heat[chunk].score,
                     .last = view.entries[chunk].last});
    }
    // The next tier takes these, and keeps what it should have free beside.
    if (to == tier + 1) {
      coming = count;
    }
  }
}

}  // namespace sluice::tier

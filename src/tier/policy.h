// Which chunks should be elsewhere. A policy is a pure function from what the volume looks like to a list of
// operations; another one is another file and a row in policy.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tier/map.h"
#include "tier/operation.h"

namespace sluice::tier {

struct PolicyTier {
  bool available = false;  // it is there, and not being drained
  std::uint64_t slots = 0;
  std::uint64_t free = 0;
};

struct PolicySettings {
  std::uint64_t top = 1000;  // how many of the hottest chunks are promoted at a time
  double threshold = 2;      // the least score that counts as hot
  double damping = 0.5;      // of the score at each interval; 1 accumulates for ever, as the paper does
  double keep_free = 0.05;   // the share of each tier but the last that demotion keeps free
};

// A snapshot. Tiers are in the order from fast to slow.
struct PolicyView {
  std::span<const Entry> entries;
  std::span<const Heat> heat;  // score as of this interval
  std::span<const PolicyTier> tiers;
  // Where hints want a chunk: row Entry::label without the pin; no_tier is anywhere.
  std::span<const std::uint8_t, 256> placement;
};

struct Proposal {
  Operation operation{};
  float score = 0;
  std::uint32_t last = 0;
};

struct Policy {
  const char* name;
  const char* summary;
  // In the order in which the operations should happen.
  std::vector<Proposal> (*propose)(const PolicyView& view, const PolicySettings& settings);
};
std::span<const Policy> policies();
Result<const Policy*> find_policy(std::string_view name);

std::vector<Proposal> propose_by_heat(const PolicyView& view, const PolicySettings& settings);
std::vector<Proposal> propose_by_hints(const PolicyView& view, const PolicySettings& settings);
std::vector<Proposal> propose_nothing(const PolicyView& view, const PolicySettings& settings);

// Demotes the chunks that were longest not used, tier by tier, until each tier has as many free slots as it
// should: `wanted[tier]`. What `keep` says stays.
void demote_oldest(const PolicyView& view, std::span<const std::uint64_t> wanted,
                   const std::vector<bool>& keep, std::vector<Proposal>& out);

}  // namespace sluice::tier

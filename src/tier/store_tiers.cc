// Tiers that come and go while the volume is in use.
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "base/units.h"
#include "tier/blocking.h"
#include "tier/store.h"

namespace sluice::tier {

Status Store::add_tier(const TierDevice& tier) {
  const auto named = [&](unsigned i) {
    return label_.tiers[i].state == TierState::present && tier_name(i) == tier.name;
  };
  for (unsigned i = 0; i < tier_count_; ++i) {
    if (named(i)) {
      return bad_input(fmt::format("there is a tier {} already", quote(tier.name)));
    }
  }
  if (tier_count_ == most_tiers) {
    return bad_input("a volume has at most 16 tiers");
  }
  TierRow row;
  if (tier.name.empty() || tier.name.size() >= row.name.size()) {
    return bad_input(fmt::format("{} cannot be the name of a tier", quote(tier.name)));
  }
  const std::uint64_t size = tier.size == 0 ? tier.device->size() : std::min(tier.size, tier.device->size());
  const std::uint64_t offset = std::min<std::uint64_t>(label_.chunk_size, 1 << 20);
  row.slots = size > offset ? (size - offset) / label_.chunk_size : 0;
  if (row.slots == 0) {
    return bad_input(fmt::format("tier {} is too small", quote(tier.name)),
                     fmt::format("give it at least {}", print_size(offset + label_.chunk_size)));
  }
  std::copy(tier.name.begin(), tier.name.end(), row.name.begin());
  while (getrandom(row.device.data(), row.device.size(), 0) != static_cast<ssize_t>(row.device.size())) {
  }
  row.state = TierState::present;
  row.persistent = tier.persistent ? 1 : 0;
  Buffer nothing(2 * block_size);
  SLUICE_CHECK(transfer(*tier.device, Op::write, 0, {nothing.data(), nothing.size()}));

  const unsigned number = tier_count_;
  label_.tiers[number] = row;
  devices_[number] = tier.device;
  slots_offset_[number] = offset;
  slots[number] = Slots(row.slots);
  ++tier_count_;
  if (Status done = write_labels(); !done) {
    --tier_count_;
    devices_[number] = nullptr;
    label_.tiers[number] = {};
    return done;
  }
  for (std::uint64_t slot = 0; slot < row.slots; ++slot) {
    const std::uint64_t at = offset + slot * label_.chunk_size;
    if (tier.device->next_data(at) < at + label_.chunk_size) {
      break;
    }
    slots[number].mark_clean(slot);
  }
  return {};
}

Status Store::check_removable(unsigned tier) const {
  if (tier >= tier_count_ || label_.tiers[tier].state != TierState::present) {
    return bad_input("there is no such tier");
  }
  if (label_.map_tiers[0] == tier || label_.map_tiers[1] == tier) {
    return fail(fmt::format("tier {} holds a copy of the map, and cannot be removed", quote(tier_name(tier))),
                "make a new volume without it, and copy");
  }
  return {};
}

Status Store::remove_tier(unsigned tier) {
  SLUICE_CHECK(check_removable(tier));
  if (slots[tier].used() > 0) {
    return fail(fmt::format("tier {} still holds {}", quote(tier_name(tier)),
                            print_size(slots[tier].used() * label_.chunk_size)),
                "drain it first");
  }
  label_.tiers[tier].state = TierState::removed;
  Device* const device = std::exchange(devices_[tier], nullptr);
  slots[tier] = Slots();
  SLUICE_CHECK(write_labels());
  if (device != nullptr) {
    Buffer nothing(2 * block_size);
    return transfer(*device, Op::write, 0, {nothing.data(), nothing.size()});
  }
  return {};
}

}  // namespace sluice::tier

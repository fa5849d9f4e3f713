// Planning a volume and writing what an empty one has on its tiers.
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "base/units.h"
#include "tier/blocking.h"
#include "tier/store.h"

namespace sluice::tier {
namespace {

constexpr std::uint64_t smallest_chunk = 64 << 10;
constexpr std::uint64_t largest_chunk = 1 << 30;
constexpr std::uint64_t most_chunks = std::uint64_t{1} << 36;
constexpr std::uint64_t labels_end = 2 * block_size;

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}

std::uint64_t usable(const TierDevice& tier) {
  const std::uint64_t size = tier.device->size();
  return (tier.size == 0 ? size : std::min(size, tier.size)) / block_size * block_size;
}

Uuid new_uuid() {
  Uuid out{};
  while (getrandom(out.data(), out.size(), 0) != static_cast<ssize_t>(out.size())) {
  }
  return out;
}

}  // namespace

Result<LabelBlock> Store::plan(const VolumePlan& plan, std::span<const TierDevice> tiers) {
  LabelBlock out;
  if (!std::has_single_bit(plan.chunk_size) || plan.chunk_size < smallest_chunk ||
      plan.chunk_size > largest_chunk) {
    return bad_input(fmt::format("a chunk cannot have {}", print_size(plan.chunk_size)),
                     "give a power of two from 64K to 1G");
  }
  if (tiers.empty() || tiers.size() > most_tiers) {
    return bad_input(fmt::format("a volume cannot have {} tiers", tiers.size()), "give 1 to 16");
  }
  out.volume = new_uuid();
  out.chunk_size = plan.chunk_size;
  out.map_tiers = {no_tier, no_tier};
  std::uint64_t raw = 0;
  for (unsigned i = 0; i < tiers.size(); ++i) {
    const TierDevice& tier = tiers[i];
    TierRow& row = out.tiers[i];
    if (tier.name.empty() || tier.name.size() >= row.name.size()) {
      return bad_input(fmt::format("{} cannot be the name of a tier", quote(tier.name)),
                       "give 1 to 31 characters");
    }
    for (unsigned j = 0; j < i; ++j) {
      if (tiers[j].name == tier.name) {
        return bad_input(fmt::format("two tiers are called {}", quote(tier.name)));
      }
    }
    if (tier.size > tier.device->size()) {
      return bad_input(fmt::format("tier {} has {}, not {}", quote(tier.name),
                                   print_size(tier.device->size()), print_size(tier.size)));
    }
    std::copy(tier.name.begin(), tier.name.end(), row.name.begin());
    row.device = new_uuid();
    row.state = TierState::present;
    row.persistent = tier.persistent ? 1 : 0;
    raw += usable(tier) / plan.chunk_size;
    if (tier.persistent) {
      auto* const place = std::find(out.map_tiers.begin(), out.map_tiers.end(), no_tier);
      if (place != out.map_tiers.end()) {
        *place = static_cast<std::uint8_t>(i);
      }
    }
  }
  if (out.map_tiers[0] == no_tier) {
    return bad_input("every tier is volatile, so the volume would be gone with the power",
                     "give at least one tier that is persistent");
  }

  const std::uint64_t wanted = std::max({raw * 4, plan.most_size / plan.chunk_size + 1, std::uint64_t{1024}});
  out.most_chunks = std::min(wanted, most_chunks);
  out.most_replicas = std::clamp<std::uint64_t>(out.most_chunks / 16, 256, 1 << 20);
  out.journal_blocks = std::clamp<std::uint64_t>(out.most_chunks / items_a_page, 32, 16384);
  out.map_offset = labels_end;

  std::uint64_t slots = 0;
  for (unsigned i = 0; i < tiers.size(); ++i) {
    const bool has_map = out.map_tiers[0] == i || out.map_tiers[1] == i;
    const std::uint64_t head = has_map ? labels_end + 2 * MapLayout(out).set_bytes() : labels_end;
    const std::uint64_t offset = round_up(head, std::min<std::uint64_t>(plan.chunk_size, 1 << 20));
    const std::uint64_t size = usable(tiers[i]);
    out.tiers[i].slots = size > offset ? (size - offset) / plan.chunk_size : 0;
    if (out.tiers[i].slots == 0) {
      return bad_input(fmt::format("tier {} is too small: it has {}", quote(tiers[i].name), print_size(size)),
                       fmt::format("give it at least {}", print_size(offset + plan.chunk_size)));
    }
    slots += tiers[i].persistent ? out.tiers[i].slots : 0;
  }
  // Moves need somewhere to go.
  const std::uint64_t reserve = tiers.size() > 1 ? std::max<std::uint64_t>(2, slots / 50) : 0;
  const std::uint64_t most = slots > reserve ? slots - reserve : 0;
  out.chunks = plan.size == 0 ? most : (plan.size + plan.chunk_size - 1) / plan.chunk_size;
  if (out.chunks > most || out.chunks == 0) {
    return bad_input(fmt::format("the tiers cannot hold a volume of {}", print_size(plan.size)),
                     fmt::format("give at most {}", print_size(most * plan.chunk_size)));
  }
  return out;
}

Status Store::create(const LabelBlock& label, std::span<const TierDevice> tiers) {
  // The labels come last: a volume that was not finished is none.
  for (unsigned i = 0; i < tiers.size(); ++i) {
    Buffer nothing(labels_end);
    if (Status done = transfer(*tiers[i].device, Op::write, 0, {nothing.data(), nothing.size()}); !done) {
      return std::move(done).error().within(fmt::format("tier {}", quote(tiers[i].name)));
    }
  }
  const MapLayout layout(label);
  for (const std::uint8_t tier : label.map_tiers) {
    if (tier == no_tier) {
      continue;
    }
    Device& device = *tiers[tier].device;
    const auto write = [&]() -> Status {
      constexpr std::uint64_t slice = 256;
      Buffer pages(slice * block_size);
      std::uint64_t number = 0;
      const std::uint64_t all = layout.entry_pages + layout.replica_pages;
      while (number < all) {
        const std::uint64_t count = std::min(slice, all - number);
        for (std::uint64_t i = 0; i < count; ++i) {
          std::byte* const block = pages.data() + i * block_size;
          EntryPage page;
          page.page.generation = 1;
          page.page.number = number + i;
          std::memcpy(block, &page, sizeof page);
          if (number + i >= layout.entry_pages) {
            std::memset(block + sizeof(PageHead), 0, block_size - sizeof(PageHead));
          }
          seal(block, page_magic);
        }
        SLUICE_CHECK(transfer(device, Op::write, layout.page(0, number), {pages.data(), count * block_size}));
        number += count;
      }
      // What an earlier volume left there must not be taken for records of this one.
      std::memset(pages.data(), 0, pages.size());
      for (unsigned set = 0; set < 2; ++set) {
        SLUICE_CHECK(transfer(device, Op::write, layout.set(set), {pages.data(), block_size}));
        for (std::uint64_t at = 0; at < layout.journal_blocks; at += slice) {
          const std::uint64_t count = std::min(slice, layout.journal_blocks - at);
          SLUICE_CHECK(
              transfer(device, Op::write, layout.journal(set, at), {pages.data(), count * block_size}));
        }
      }
      SetBlock head;
      head.generation = 1;
      head.chunks = label.chunks;
      std::memcpy(pages.data(), &head, sizeof head);
      seal(pages.data(), set_magic);
      SLUICE_CHECK(transfer(device, Op::write, layout.set(0), {pages.data(), block_size}));
      return flush(device);
    };
    if (Status done = write(); !done) {
      return std::move(done).error().within(fmt::format("tier {}", quote(tiers[tier].name)));
    }
  }
  for (unsigned i = 0; i < tiers.size(); ++i) {
    LabelBlock own = label;
    own.tier = i;
    own.device = label.tiers[i].device;
    own.session = 1;
    own.clean = 1;
    const bool has_map = label.map_tiers[0] == i || label.map_tiers[1] == i;
    const std::uint64_t head = has_map ? labels_end + 2 * layout.set_bytes() : labels_end;
    own.slots_offset = round_up(head, std::min<std::uint64_t>(label.chunk_size, 1 << 20));
    Buffer block(labels_end);
    std::memcpy(block.data(), &own, sizeof own);
    seal(block.data(), label_magic);
    Status done = transfer(*tiers[i].device, Op::write, 0, {block.data(), block_size});
    if (done) {
      done = flush(*tiers[i].device);
    }
    if (!done) {
      return std::move(done).error().within(fmt::format("tier {}", quote(tiers[i].name)));
    }
  }
  return {};
}

}  // namespace sluice::tier

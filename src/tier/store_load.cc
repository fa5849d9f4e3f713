// Assembling a volume of its tiers: the newest complete image, and what the journals have beyond it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "base/units.h"
#include "tier/blocking.h"
#include "tier/store.h"

namespace sluice::tier {
namespace {

// Nothing that a damaged or foreign label says may make us read or reserve without bound.
Status check_label(const LabelBlock& label) {
  const bool sound = std::has_single_bit(label.chunk_size) && label.chunk_size >= block_size &&
                     label.most_chunks > 0 && label.most_chunks <= std::uint64_t{1} << 36 &&
                     label.chunks <= label.most_chunks && label.most_replicas <= 1 << 20 &&
                     label.journal_blocks > 0 && label.journal_blocks <= 1 << 20 && label.tier < most_tiers &&
                     label.tiers[label.tier].state == TierState::present &&
                     label.tiers[label.tier].device == label.device &&
                     std::all_of(label.map_tiers.begin(), label.map_tiers.end(),
                                 [](std::uint8_t tier) { return tier == no_tier || tier < most_tiers; });
  return sound ? Status() : fail("its label contradicts itself", "the device is damaged, or not a tier's");
}

}  // namespace

Result<LabelBlock> Store::read_label(Device& device) {
  if (device.size() < 2 * block_size) {
    return fail("it has no label of a volume");
  }
  Buffer blocks(2 * block_size);
  SLUICE_CHECK(transfer(device, Op::read, 0, {blocks.data(), blocks.size()}));
  LabelBlock out;
  for (unsigned i = 0; i < 2; ++i) {
    LabelBlock found;
    std::memcpy(&found, blocks.data() + i * block_size, sizeof found);
    if (is_sealed(&found, label_magic) && (out.session == 0 || found.session > out.session)) {
      out = found;
    }
  }
  if (out.session == 0) {
    return fail("it has no label of a volume");
  }
  if (out.version != 1) {
    return fail(fmt::format("its label has version {}", out.version), "use a newer Sluice");
  }
  SLUICE_CHECK(check_label(out));
  return out;
}

class StoreLoader {
 public:
  StoreLoader(Store& store, Store::Loaded& notes) : store_(store), notes_(notes) {}

  Status find_tiers(std::span<const TierDevice> tiers);
  Status read_map();
  Status count_slots();
  // Further copies on volatile tiers that were lost; true where there were any.
  bool forget_lost_copies();

 private:
  struct Copy {
    unsigned which = 0;
    Device* device = nullptr;
    std::array<std::uint64_t, 2> generation{};  // of each set, 0: not complete
  };

  [[nodiscard]] std::string name(const Copy& copy) const {
    return quote(store_.tier_name(store_.label_.map_tiers[copy.which]));
  }
  Status read_pages(unsigned set, std::uint64_t generation);
  Status take_page(const std::byte* block, std::uint64_t number);
  // Applies the longest journal that the copies have, and returns how many blocks that was.
  Result<std::uint64_t> replay(unsigned set, std::uint64_t generation);
  [[nodiscard]] bool page_is(const std::byte* block, std::uint64_t generation, std::uint64_t number) const;

  Store& store_;
  Store::Loaded& notes_;
  std::vector<Copy> copies_;
  std::vector<const TierDevice*> fresh_;
  unsigned emptied_ = 0;
};

Status StoreLoader::find_tiers(std::span<const TierDevice> tiers) {
  std::vector<LabelBlock> labels(tiers.size());
  std::size_t newest = 0;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    auto label = Store::read_label(*tiers[i].device);
    if (!label && !tiers[i].persistent && label.error().number == 0) {
      fresh_.push_back(&tiers[i]);  // memory that was lost: nothing was there alone
      continue;
    }
    if (!label) {
      return std::move(label).error().within(fmt::format("tier {}", quote(tiers[i].name)));
    }
    labels[i] = *label;
    newest = labels[newest].session == 0 ? i : newest;
    if (labels[i].volume != labels[newest].volume) {
      return fail(fmt::format("tiers {} and {} are of different volumes", quote(tiers[newest].name),
                              quote(tiers[i].name)),
                  "give the tiers that belong together");
    }
    newest = labels[i].session > labels[newest].session ? i : newest;
  }
  if (labels.empty() || labels[newest].session == 0) {
    return fail("no tier of the volume is there");
  }
  store_.label_ = labels[newest];
  LabelBlock& label = store_.label_;
  notes_.was_clean = label.clean != 0;
  for (unsigned i = 0; i < most_tiers; ++i) {
    store_.tier_count_ = label.tiers[i].state == TierState::none ? store_.tier_count_ : i + 1;
  }
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const LabelBlock& own = labels[i];
    if (own.session == 0) {
      continue;
    }
    const TierRow& row = label.tiers[own.tier];
    if (row.state != TierState::present || row.device != own.device) {
      return fail(fmt::format("{} was a tier of this volume, and was removed", quote(tiers[i].name)),
                  "leave it out");
    }
    if (store_.devices_[own.tier] != nullptr) {
      return fail(fmt::format("{} is the same device as another tier", quote(tiers[i].name)),
                  "one of them is a copy; leave it out");
    }
    if (own.session == label.session && (own.stale_maps != label.stale_maps || own.chunks != label.chunks)) {
      return fail(fmt::format("{} and {} were used without each other", quote(tiers[newest].name),
                              quote(tiers[i].name)),
                  "leave one of them out");
    }
    const std::uint64_t end = own.slots_offset + row.slots * label.chunk_size;
    if (own.slots_offset % block_size != 0 || end < own.slots_offset || end > tiers[i].device->size()) {
      return fail(fmt::format("tier {} has {}, and the map needs {}", quote(tiers[i].name),
                              print_size(tiers[i].device->size()), print_size(end)),
                  "it was cut short; give the device that it was");
    }
    store_.devices_[own.tier] = tiers[i].device;
    store_.slots_offset_[own.tier] = own.slots_offset;
  }
  for (const TierDevice* tier : fresh_) {
    for (unsigned i = 0; i < store_.tier_count_; ++i) {
      const TierRow& row = label.tiers[i];
      const std::uint64_t offset = std::min<std::uint64_t>(label.chunk_size, 1 << 20);
      if (row.state == TierState::present && row.persistent == 0 && store_.devices_[i] == nullptr &&
          store_.tier_name(i) == tier->name &&
          offset + row.slots * label.chunk_size <= tier->device->size()) {
        store_.devices_[i] = tier->device;
        store_.slots_offset_[i] = offset;
        emptied_ |= 1U << i;
        notes_.notes.push_back(
            fmt::format("tier {} is volatile and was lost; it begins empty", quote(tier->name)));
      }
    }
  }
  for (unsigned i = 0; i < store_.tier_count_; ++i) {
    store_.slots[i] = Slots(label.tiers[i].state == TierState::present ? label.tiers[i].slots : 0);
  }
  return {};
}

bool StoreLoader::page_is(const std::byte* block, std::uint64_t generation, std::uint64_t number) const {
  PageHead head;
  std::memcpy(&head, block, sizeof head);
  return is_sealed(block, page_magic) && head.generation == generation && head.number == number;
}

Status StoreLoader::take_page(const std::byte* block, std::uint64_t number) {
  const MapLayout layout(store_.label_);
  Record record;
  if (number < layout.entry_pages) {
    const auto* const page = reinterpret_cast<const EntryPage*>(block);
    const std::uint64_t first = number * items_a_page;
    for (std::size_t i = 0; i < items_a_page && first + i < store_.entries.size(); ++i) {
      store_.heat[first + i] = page->items[i].heat;
      record.chunk = first + i;
      record.entry = page->items[i].entry;
      record.type = RecordType::entry;
      if (!store_.apply(record)) {
        return fail(fmt::format("the map sends chunk {} where no tier is", record.chunk));
      }
    }
    return {};
  }
  const auto* const page = reinterpret_cast<const ReplicaPage*>(block);
  for (const ReplicaRow& row : page->rows) {
    record.entry.set_place(unpack(row.place));
    if (row.place != 0 || row.chunk != 0) {
      record.chunk = row.chunk;
      record.type = RecordType::add_replica;
      if (!store_.apply(record)) {
        return fail(fmt::format("the map has a copy of chunk {} where no tier is", row.chunk));
      }
    }
  }
  return {};
}

Status StoreLoader::read_pages(unsigned set, std::uint64_t generation) {
  const MapLayout layout(store_.label_);
  Buffer head(block_size);
  SetBlock found;
  for (const Copy& copy : copies_) {
    if (copy.generation[set] == generation) {
      SLUICE_CHECK(transfer(*copy.device, Op::read, layout.set(set), {head.data(), block_size}));
      std::memcpy(&found, head.data(), sizeof found);
      break;
    }
  }
  const std::uint64_t chunks = std::min(found.chunks, store_.label_.most_chunks);
  store_.entries.assign(chunks, Entry{});
  store_.heat.assign(chunks, Heat{});
  const std::uint64_t entry_pages = (chunks + items_a_page - 1) / items_a_page;
  const std::uint64_t replica_rows = std::min(found.replicas, store_.label_.most_replicas);
  const std::uint64_t replica_pages = (replica_rows + replicas_a_page - 1) / replicas_a_page;

  constexpr std::uint64_t slice = 2048;  // 8 MiB, several requests at once
  std::array<Buffer, 2> buffers;
  std::array<std::uint64_t, 2> repaired{};
  for (std::uint64_t done = 0; done < entry_pages + replica_pages;) {
    const bool in_entries = done < entry_pages;
    const std::uint64_t number = in_entries ? done : layout.entry_pages + (done - entry_pages);
    const std::uint64_t left = in_entries ? entry_pages - done : entry_pages + replica_pages - done;
    const std::uint64_t count = std::min(slice, left);
    std::array<bool, 2> here{};
    const auto fetch = [&](std::size_t i) {
      if (here[i] || copies_[i].generation[set] != generation) {
        return here[i];
      }
      if (buffers[i].size() == 0) {
        buffers[i] = Buffer(slice * block_size);
      }
      // Where the whole cannot be read, page by page; one that cannot is as good as damaged.
      Device& device = *copies_[i].device;
      if (!transfer(device, Op::read, layout.page(set, number), {buffers[i].data(), count * block_size})) {
        for (std::uint64_t page = 0; page < count; ++page) {
          std::byte* const block = buffers[i].data() + page * block_size;
          if (!transfer(device, Op::read, layout.page(set, number + page), {block, block_size})) {
            std::memset(block, 0, block_size);
          }
        }
      }
      here[i] = true;
      return true;
    };
    for (std::uint64_t page = 0; page < count; ++page) {
      const std::byte* good = nullptr;
      for (std::size_t i = 0; i < copies_.size() && good == nullptr; ++i) {
        if (fetch(i)) {
          const std::byte* const block = buffers[i].data() + page * block_size;
          page_is(block, generation, number + page) ? void(good = block) : void(++repaired[i]);
        }
      }
      if (good == nullptr) {
        return fail(fmt::format("page {} of the map is damaged in every copy", number + page),
                    "restore the tier that holds the map");
      }
      SLUICE_CHECK(take_page(good, number + page));
    }
    done += count;
  }
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    if (repaired[i] > 0) {
      notes_.notes.push_back(fmt::format("{} pages of the map on tier {} are damaged; the copy was used",
                                         repaired[i], name(copies_[i])));
    }
  }
  return {};
}

Result<std::uint64_t> StoreLoader::replay(unsigned set, std::uint64_t generation) {
  const MapLayout layout(store_.label_);
  constexpr std::uint64_t slice = 64;
  struct Journal {
    Buffer blocks;
    std::uint64_t count = 0;
    std::uint64_t session = 0;
  };
  std::vector<Journal> journals(copies_.size());
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    Journal& journal = journals[i];
    journal.blocks = Buffer(layout.journal_blocks * block_size);
    for (bool more = true; more && journal.count < layout.journal_blocks;) {
      const std::uint64_t first = journal.count;
      const std::uint64_t count = std::min(slice, layout.journal_blocks - first);
      std::byte* const at = journal.blocks.data() + first * block_size;
      if (!transfer(*copies_[i].device, Op::read, layout.journal(set, first), {at, count * block_size})) {
        break;
      }
      for (std::uint64_t n = 0; n < count && more; ++n) {
        const auto* const block = reinterpret_cast<const JournalBlock*>(at + n * block_size);
        more = is_sealed(block, journal_magic) && block->generation == generation &&
               block->number == first + n && block->session >= journal.session &&
               block->count <= records_a_block;
        if (more) {
          journal.session = block->session;
          ++journal.count;
        }
      }
    }
  }
  const auto best =
      std::max_element(journals.begin(), journals.end(), [](const Journal& a, const Journal& b) {
        return std::pair(a.session, a.count) < std::pair(b.session, b.count);
      });
  if (best == journals.end()) {
    return 0;
  }
  for (std::uint64_t n = 0; n < best->count; ++n) {
    const auto* const block = reinterpret_cast<const JournalBlock*>(best->blocks.data() + n * block_size);
    for (std::uint64_t i = 0; i < block->count; ++i) {
      if (!store_.apply(block->records[i])) {
        return fail(fmt::format("record {} of block {} of the journal does not fit the volume", i, n));
      }
    }
  }
  return best->count;
}

Status StoreLoader::read_map() {
  const LabelBlock& label = store_.label_;
  const MapLayout layout(label);
  std::uint64_t generation = 0;
  unsigned set = 0;
  for (unsigned which = 0; which < 2; ++which) {
    const std::uint8_t tier = label.map_tiers[which];
    if (tier == no_tier) {
      continue;
    }
    if (store_.devices_[tier] == nullptr) {
      notes_.notes.push_back(
          fmt::format("tier {} is missing, which holds a copy of the map", quote(store_.tier_name(tier))));
      continue;
    }
    if ((label.stale_maps >> which & 1) != 0) {
      continue;
    }
    Copy copy{.which = which, .device = store_.devices_[tier]};
    for (unsigned i = 0; i < 2; ++i) {
      Buffer block(block_size);
      if (transfer(*copy.device, Op::read, layout.set(i), {block.data(), block_size}) &&
          is_sealed(block.data(), set_magic)) {
        SetBlock found;
        std::memcpy(&found, block.data(), sizeof found);
        copy.generation[i] = found.generation;
        if (found.generation > generation) {
          generation = found.generation;
          set = i;
        }
      }
    }
    copies_.push_back(copy);
  }
  if (generation == 0) {
    return fail(
        copies_.empty() ? "no tier with an up-to-date map is there" : "no copy of the map can be read",
        "give the tiers that hold the map: the two fastest persistent ones");
  }
  for (const Copy& copy : copies_) {
    if (copy.generation[set] != generation) {
      notes_.notes.push_back(
          fmt::format("the map on tier {} is damaged or old; the copy was used", name(copy)));
    }
  }
  store_.reserve_memory();
  store_.replicas = Replicas(static_cast<std::uint32_t>(label.most_replicas));
  store_.entries.reserve(label.most_chunks);
  store_.heat.reserve(label.most_chunks);
  SLUICE_CHECK(read_pages(set, generation));
  SLUICE_TRY(const std::uint64_t blocks, replay(set, generation));
  SLUICE_TRY(const std::uint64_t later, replay(set ^ 1U, generation + 1));
  store_.set_ = later > 0 ? set ^ 1U : set;
  store_.generation_ = later > 0 ? generation + 1 : generation;
  store_.next_block_ = later > 0 ? later : blocks;
  store_.unfinished_ = later > 0;
  store_.label_.chunks = store_.entries.size();
  return {};
}

bool StoreLoader::forget_lost_copies() {
  std::vector<Record> lost;
  store_.replicas.for_each([&](std::uint64_t chunk, Place place) {
    if ((emptied_ >> place.tier & 1) != 0) {
      Record& record = lost.emplace_back();
      record.chunk = chunk;
      record.entry.set_place(place);
      record.type = RecordType::drop_replica;
    }
  });
  for (const Record& record : lost) {
    store_.apply(record);
  }
  return !lost.empty();
}

Status StoreLoader::count_slots() {
  const auto take = [this](std::uint64_t chunk, Place place) -> Status {
    if (!place.exists()) {
      return {};
    }
    Slots& slots = store_.slots[place.tier];
    if (place.slot >= slots.count() || slots.is_used(place.slot)) {
      return fail(fmt::format("chunk {} and another are both in slot {} of tier {}", chunk, place.slot,
                              quote(store_.tier_name(place.tier))),
                  "the map is damaged; keep the tiers as they are");
    }
    slots.mark_used(place.slot);
    return {};
  };
  for (std::uint64_t chunk = 0; chunk < store_.entries.size(); ++chunk) {
    SLUICE_CHECK(take(chunk, store_.entries[chunk].place()));
  }
  Status copies;
  store_.replicas.for_each([&](std::uint64_t chunk, Place place) {
    if (copies) {
      copies = take(chunk, place);
    }
  });
  SLUICE_CHECK(copies);
  // Free slots that are holes need no zeroing.
  for (unsigned tier = 0; tier < store_.tier_count_; ++tier) {
    Device* const device = store_.devices_[tier];
    Slots& slots = store_.slots[tier];
    if (device == nullptr) {
      continue;
    }
    std::uint64_t hole_end = 0;
    for (std::uint64_t slot = 0; slot < slots.count(); ++slot) {
      if (slots.is_used(slot)) {
        continue;
      }
      const std::uint64_t at = store_.offset({.tier = static_cast<std::uint8_t>(tier), .slot = slot});
      if (at >= hole_end) {
        hole_end = std::max(device->next_data(at), at + 1);
      }
      if (at + store_.label_.chunk_size <= hole_end) {
        slots.mark_clean(slot);
      }
    }
  }
  return {};
}

Result<std::unique_ptr<Store>> Store::load(std::span<const TierDevice> tiers, bool look_only, Loaded& out) {
  std::unique_ptr<Store> store(new Store());
  StoreLoader loader(*store, out);
  SLUICE_CHECK(loader.find_tiers(tiers));
  SLUICE_CHECK(loader.read_map());
  const bool forgot = loader.forget_lost_copies();
  if (look_only) {
    SLUICE_CHECK(loader.count_slots());
    return store;
  }
  for (unsigned i = 0; i < 2; ++i) {
    const std::uint8_t tier = store->label_.map_tiers[i];
    if (tier != no_tier && store->devices_[tier] == nullptr) {
      store->map_failed(i);
      store->labels_due_ = false;
    }
  }
  // What the last session wrote and did not flush is kept from here on, holes included.
  for (unsigned i = 0; i < store->tier_count_; ++i) {
    if (store->devices_[i] != nullptr) {
      if (Status done = flush(*store->devices_[i]); !done) {
        return std::move(done).error().within(fmt::format("tier {}", quote(store->tier_name(i))));
      }
    }
  }
  SLUICE_CHECK(loader.count_slots());
  store->label_.clean = 0;
  SLUICE_CHECK(store->write_labels());
  // A checkpoint that was interrupted is written again, from what is known now.
  if (store->unfinished_) {
    store->begin_pages();
  }
  // Should this session be killed, the next one must not believe in those copies.
  if (forgot) {
    SLUICE_CHECK(store->run_until_idle());
    store->checkpoint();
    SLUICE_CHECK(store->run_until_idle());
  }
  return store;
}

}  // namespace sluice::tier

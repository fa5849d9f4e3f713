#include "tier/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "tier/blocking.h"

namespace sluice::tier {

Store::~Store() = default;

std::string Store::tier_name(unsigned tier) const {
  const auto& name = label_.tiers[tier].name;
  return {name.data(), static_cast<std::size_t>(std::find(name.begin(), name.end(), '\0') - name.begin())};
}

bool Store::map_works(unsigned which) const {
  const std::uint8_t tier = label_.map_tiers[which];
  return tier != no_tier && devices_[tier] != nullptr && (failed_maps_ >> which & 1) == 0;
}

void Store::reserve_memory() {
  memory_ = Buffer((batch_blocks + slice_pages) * block_size);
  batch_data_ = memory_.data();
  slice_data_ = memory_.data() + batch_blocks * block_size;
  replica_rows_.resize(label_.most_replicas);
}

bool Store::apply(const Record& record) {
  const Place place = record.entry.place();
  const bool in_range = record.chunk < entries.size();
  const bool place_fits =
      !place.exists() || (place.tier < tier_count_ && place.slot < slots[place.tier].count());
  switch (record.type) {
    case RecordType::entry:
      if (!in_range || !place_fits) {
        return false;
      }
      {
        Entry& entry = entries[record.chunk];
        const auto kept =
            static_cast<std::uint16_t>(entry.flags & (flag_busy | flag_queued | flag_replicated));
        const auto set = static_cast<std::uint16_t>(record.entry.flags & flags_stored & ~flag_replicated);
        mapped = mapped + (record.entry.mapped() ? 1 : 0) - (entry.mapped() ? 1 : 0);
        const std::uint32_t last = std::max(entry.last, record.entry.last);
        entry = record.entry;
        entry.last = last;
        entry.flags = static_cast<std::uint16_t>(kept | set);
      }
      return true;
    case RecordType::add_replica:
    case RecordType::drop_replica: {
      if (!in_range || !place_fits || !place.exists()) {
        return false;
      }
      replicas.remove(record.chunk, place);
      if (record.type == RecordType::add_replica && !replicas.add(record.chunk, place)) {
        return false;
      }
      std::uint16_t& flags = entries[record.chunk].flags;
      flags = static_cast<std::uint16_t>(replicas.find(record.chunk).count > 0 ? flags | flag_replicated
                                                                               : flags & ~flag_replicated);
      return true;
    }
    case RecordType::resize:
      if (record.chunk > label_.most_chunks) {
        return false;
      }
      label_.chunks = record.chunk;
      entries.resize(record.chunk);
      heat.resize(record.chunk);
      return true;
    case RecordType::none:
      break;
  }
  return false;
}

void Store::write_maps(std::uint64_t offset, std::byte* data, std::uint64_t length, Op op,
                       std::array<Io, 2>& ios, unsigned& open, void (*done)(Io&)) {
  // Counted before the first is submitted, so that none of them is taken for the last.
  open = (map_works(0) ? 1U : 0U) + (map_works(1) ? 1U : 0U);
  for (unsigned i = 0; i < 2; ++i) {
    if (!map_works(i)) {
      continue;
    }
    Io& io = ios[i];
    io = Io{};
    io.op = op;
    io.tier = static_cast<std::uint8_t>(i);  // which of the two
    io.offset = offset;
    io.length = length;
    io.data = data;
    io.done = done;
    io.owner = this;
    counts_.bytes += length;
    devices_[label_.map_tiers[i]]->submit(io);
  }
}

// A copy of the map that could not be written is no copy any more, and no later session may take it for one.
void Store::map_failed(unsigned which) {
  failed_maps_ |= 1U << which;
  label_.stale_maps = static_cast<std::uint8_t>(label_.stale_maps | 1U << which);
  labels_due_ = true;
}

void Store::commit(Commit& commit) {
  commit.next = nullptr;
  commit.error = 0;
  (waiting_ == nullptr ? waiting_ : waiting_last_->next) = &commit;
  waiting_last_ = &commit;
}

void Store::start_batch() {
  const MapLayout layout(label_);
  const std::uint64_t room = layout.journal_blocks - next_block_;
  if (room == 0) {
    checkpoint();  // the other journal, when it is there; until then the commits wait
    return;
  }
  const std::size_t most = std::min<std::uint64_t>(batch_blocks, room);
  std::size_t blocks = 0;
  JournalBlock* block = nullptr;
  Commit** end = &batch_;
  while (Commit* const commit = waiting_) {
    if (block == nullptr || block->count + commit->count > records_a_block) {
      if (blocks == most) {
        break;
      }
      block = new (batch_data_ + blocks * block_size) JournalBlock();
      block->generation = generation_;
      block->number = next_block_ + blocks;
      block->session = label_.session;
      ++blocks;
    }
    for (unsigned i = 0; i < commit->count; ++i) {
      block->records[block->count++] = commit->records[i];
    }
    waiting_ = commit->next;
    *end = commit;
    end = &commit->next;
    ++counts_.commits;
  }
  *end = nullptr;
  for (std::size_t i = 0; i < blocks; ++i) {
    seal(batch_data_ + i * block_size, journal_magic);
  }
  const std::uint64_t at = layout.journal(set_, next_block_);
  next_block_ += blocks;
  counts_.journal_blocks += blocks;
  batch_good_ = 0;
  write_maps(at, batch_data_, blocks * block_size, Op::write, batch_ios_, batch_open_, [](Io& io) {
    auto& store = *static_cast<Store*>(io.owner);
    if (io.error == 0) {
      ++store.batch_good_;
      store.dirty |= std::uint32_t{1} << store.label_.map_tiers[io.tier];
    } else {
      store.map_failed(io.tier);
    }
    if (--store.batch_open_ == 0) {
      store.batch_done();
    }
  });
  if (batch_open_ == 0) {
    batch_done();
  }
}

void Store::batch_done() {
  Commit* commit = batch_;
  batch_ = nullptr;
  while (commit != nullptr) {
    Commit* const next = commit->next;
    if (batch_good_ == 0) {
      commit->error = EIO;
    } else {
      for (unsigned i = 0; i < commit->count; ++i) {
        apply(commit->records[i]);
      }
    }
    commit->done(*commit);  // which may commit again, or free it
    commit = next;
  }
}

void Store::checkpoint() {
  checkpoint_due_ = step_ == Step::none;
}

// Records that are on their way to the old journal are in neither the new one nor yet in the entries, so
// there must be none.
void Store::begin_checkpoint() {
  checkpoint_due_ = false;
  set_ ^= 1U;
  ++generation_;
  next_block_ = 0;
  begin_pages();
}

void Store::begin_pages() {
  step_ = Step::pages;
  page_ = 0;
  slice_open_ = 0;
  slice_good_ = 1;
  replica_row_count_ = 0;
  replicas.for_each([this](std::uint64_t chunk, Place place) {
    replica_rows_[replica_row_count_++] = {.chunk = chunk, .place = pack(place)};
  });
}

void Store::fill_page(std::byte* block, std::uint64_t number) {
  const MapLayout layout(label_);
  if (number < layout.entry_pages) {
    auto* const page = new (block) EntryPage();
    page->page.generation = generation_;
    page->page.number = number;
    const std::uint64_t first = number * items_a_page;
    for (std::size_t i = 0; i < items_a_page && first + i < entries.size(); ++i) {
      page->items[i] = {.entry = entries[first + i], .heat = heat[first + i]};
      page->items[i].entry.flags &= flags_stored;
    }
  } else {
    auto* const page = new (block) ReplicaPage();
    page->page.generation = generation_;
    page->page.number = number;
    const std::uint64_t first = (number - layout.entry_pages) * replicas_a_page;
    for (std::size_t i = 0; i < replicas_a_page && first + i < replica_row_count_; ++i) {
      page->rows[i] = replica_rows_[first + i];
    }
  }
  seal(block, page_magic);
}

void Store::slice_done(Io& io) {
  io.error == 0 ? void(++slice_good_) : map_failed(io.tier);
  --slice_open_;
}

// One step of the checkpoint; each ends with requests under way, the last with none.
void Store::advance_checkpoint() {
  const MapLayout layout(label_);
  const auto done = [](Io& io) { static_cast<Store*>(io.owner)->slice_done(io); };
  const bool failed = slice_good_ == 0 && page_ > 0;
  slice_good_ = 0;
  if (failed) {  // on both; the journal cannot be written either
    step_ = Step::none;
    return;
  }
  switch (step_) {
    case Step::none:
      return;
    case Step::pages: {
      // Pages beyond the volume's chunks are read as empty without being there.
      const std::uint64_t used = (entries.size() + items_a_page - 1) / items_a_page;
      const std::uint64_t used_replicas = (replica_row_count_ + replicas_a_page - 1) / replicas_a_page;
      if (page_ >= used && page_ < layout.entry_pages) {
        page_ = layout.entry_pages;
      }
      const std::uint64_t end = page_ < layout.entry_pages ? used : layout.entry_pages + used_replicas;
      if (page_ >= end) {
        step_ = Step::flush;
        page_ = layout.entry_pages + layout.replica_pages;
        slice_good_ = 1;
        advance_checkpoint();
        return;
      }
      const std::uint64_t count = std::min<std::uint64_t>(slice_pages, end - page_);
      for (std::uint64_t i = 0; i < count; ++i) {
        fill_page(slice_data_ + i * block_size, page_ + i);
      }
      write_maps(layout.page(set_, page_), slice_data_, count * block_size, Op::write, slice_ios_,
                 slice_open_, done);
      page_ += count;
      return;
    }
    case Step::flush:
      step_ = Step::head;
      write_maps(0, nullptr, 0, Op::flush, slice_ios_, slice_open_, done);
      return;
    case Step::head: {
      step_ = Step::head_flush;
      auto* const head = new (slice_data_) SetBlock();
      head->generation = generation_;
      head->chunks = label_.chunks;
      head->replicas = replica_row_count_;
      seal(slice_data_, set_magic);
      write_maps(layout.set(set_), slice_data_, block_size, Op::write, slice_ios_, slice_open_, done);
      return;
    }
    case Step::head_flush:
      step_ = Step::end;
      write_maps(0, nullptr, 0, Op::flush, slice_ios_, slice_open_, done);
      return;
    case Step::end:
      step_ = Step::none;
      ++counts_.checkpoints;
      return;
  }
}

void Store::advance() {
  if (labels_due_) {
    labels_due_ = false;
    [[maybe_unused]] const Status written = write_labels();  // at least one tier has it, or nothing works
  }
  if (step_ != Step::none && slice_open_ == 0) {
    advance_checkpoint();
  }
  if (next_block_ * 2 > label_.journal_blocks) {
    checkpoint();
  }
  if (checkpoint_due_ && batch_ == nullptr) {
    begin_checkpoint();
  }
  if (batch_ == nullptr && waiting_ != nullptr) {
    start_batch();
  }
}

bool Store::idle() const {
  return batch_ == nullptr && waiting_ == nullptr && step_ == Step::none && !checkpoint_due_;
}

Status Store::write_labels() {
  ++label_.session;
  Status out = fail("no tier took the volume's label");
  for (unsigned i = 0; i < tier_count_; ++i) {
    if (devices_[i] == nullptr) {
      continue;
    }
    Buffer block(block_size);
    LabelBlock own = label_;
    own.tier = i;
    own.device = label_.tiers[i].device;
    own.slots_offset = slots_offset_[i];
    std::memcpy(block.data(), &own, sizeof own);
    seal(block.data(), label_magic);
    Status done = transfer(*devices_[i], Op::write, own.session % 2 * block_size, {block.data(), block_size});
    if (done) {
      done = flush(*devices_[i]);
    }
    if (done) {
      out = {};
    }
  }
  return out;
}

Status Store::run_until_idle() {
  while (!idle()) {
    advance();
    for (unsigned i = 0; i < 2; ++i) {
      if (map_works(i)) {
        devices_[label_.map_tiers[i]]->kick();
      }
    }
    for (unsigned i = 0; i < 2; ++i) {
      if (map_works(i)) {
        Device& device = *devices_[label_.map_tiers[i]];
        if (batch_open_ > 0 || slice_open_ > 0) {
          device.wait();
        }
        device.poll();
      }
    }
    if (!map_works(0) && !map_works(1)) {
      return fail(EIO, "no copy of the map can be written");
    }
  }
  return {};
}

Status Store::close() {
  SLUICE_CHECK(run_until_idle());
  checkpoint();
  SLUICE_CHECK(run_until_idle());
  for (unsigned i = 0; i < tier_count_; ++i) {
    if (devices_[i] != nullptr) {
      if (Status done = flush(*devices_[i]); !done) {
        return std::move(done).error().within(fmt::format("tier {}", quote(tier_name(i))));
      }
    }
  }
  // Both copies were written whole just now, so one that was old is no longer.
  label_.stale_maps = 0;
  for (unsigned i = 0; i < 2; ++i) {
    if (label_.map_tiers[i] != no_tier && !map_works(i)) {
      label_.stale_maps = static_cast<std::uint8_t>(label_.stale_maps | 1U << i);
    }
  }
  label_.clean = 1;
  return write_labels();
}

}  // namespace sluice::tier

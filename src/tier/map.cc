#include "tier/map.h"

#include <algorithm>
#include <bit>

namespace sluice::tier {

Label Entry::hints() const {
  return {.kind = static_cast<std::uint8_t>(label & 3),
          .bucket = static_cast<std::uint8_t>(label >> 2 & 15),
          .pattern = static_cast<std::uint8_t>(label >> 6 & 3),
          .pinned = (label >> 8 & 1) != 0};
}

void Entry::set_hints(const Label& value) {
  label = static_cast<std::uint16_t>((value.kind & 3U) | (value.bucket & 15U) << 2 |
                                     (value.pattern & 3U) << 6 | (value.pinned ? 1U : 0U) << 8);
}

Replicas::Replicas(std::uint32_t most) : heads_(std::max<std::uint32_t>(most, 1), none), rows_(most) {
  for (std::uint32_t i = most; i-- > 0;) {
    rows_[i].next = free_;
    free_ = i;
  }
}

bool Replicas::add(std::uint64_t chunk, Place place) {
  const Copies copies = find(chunk);
  if (free_ == none || copies.count == copies.places.size()) {
    return false;
  }
  const std::uint32_t i = free_;
  free_ = rows_[i].next;
  std::uint32_t& head = heads_[bucket(chunk)];
  rows_[i] = {.chunk = chunk, .place = place, .next = head};
  head = i;
  ++count_;
  return true;
}

bool Replicas::remove(std::uint64_t chunk, Place place) {
  if (rows_.empty()) {
    return false;
  }
  for (std::uint32_t* link = &heads_[bucket(chunk)]; *link != none; link = &rows_[*link].next) {
    Row& row = rows_[*link];
    if (row.chunk == chunk && row.place == place) {
      const std::uint32_t i = *link;
      *link = row.next;
      row.next = free_;
      free_ = i;
      --count_;
      return true;
    }
  }
  return false;
}

Replicas::Copies Replicas::find(std::uint64_t chunk) const {
  Copies out;
  if (rows_.empty()) {
    return out;
  }
  for (std::uint32_t i = heads_[bucket(chunk)]; i != none && out.count < out.places.size();
       i = rows_[i].next) {
    if (rows_[i].chunk == chunk) {
      out.places[out.count++] = rows_[i].place;
    }
  }
  return out;
}

Slots::Slots(std::uint64_t count) {
  resize(count);
}

void Slots::put(Bits& bits, std::uint64_t i, bool value) {
  const std::uint64_t bit = std::uint64_t{1} << (i % 64);
  value ? bits[i / 64] |= bit : bits[i / 64] &= ~bit;
}

std::uint64_t Slots::take_clean() {
  if (clean_count_ == 0) {
    return no_slot;
  }
  const std::size_t words = clean_bits_.size();
  for (std::size_t tried = 0; tried <= words; ++tried) {
    const std::size_t word = (clean_cursor_ / 64 + tried) % words;
    // The bits before the cursor are looked at last, when the search comes round to this word again.
    std::uint64_t bits = clean_bits_[word];
    if (tried == 0) {
      bits &= ~std::uint64_t{0} << (clean_cursor_ % 64);
    }
    if (bits != 0) {
      const std::uint64_t slot = word * 64 + static_cast<unsigned>(std::countr_zero(bits));
      mark_used(slot);
      clean_cursor_ = slot + 1 < count_ ? slot + 1 : 0;
      return slot;
    }
  }
  return no_slot;
}

std::uint64_t Slots::take_dirty() {
  if (count_ - used_ == clean_count_) {
    return no_slot;
  }
  const std::size_t words = used_bits_.size();
  for (std::size_t tried = 0; tried < words; ++tried) {
    const std::size_t word = (dirty_cursor_ + tried) % words;
    std::uint64_t bits = ~(used_bits_[word] | clean_bits_[word]);
    if (word == words - 1 && count_ % 64 != 0) {
      bits &= (std::uint64_t{1} << (count_ % 64)) - 1;
    }
    if (bits != 0) {
      dirty_cursor_ = word;
      const std::uint64_t slot = word * 64 + static_cast<unsigned>(std::countr_zero(bits));
      mark_used(slot);
      return slot;
    }
  }
  return no_slot;
}

void Slots::mark_used(std::uint64_t slot) {
  if (get(clean_bits_, slot)) {
    put(clean_bits_, slot, false);
    --clean_count_;
  }
  put(used_bits_, slot, true);
  ++used_;
}

void Slots::release(std::uint64_t slot, bool clean) {
  put(used_bits_, slot, false);
  --used_;
  if (clean) {
    mark_clean(slot);
  }
}

void Slots::mark_clean(std::uint64_t slot) {
  if (!get(clean_bits_, slot)) {
    put(clean_bits_, slot, true);
    ++clean_count_;
  }
}

void Slots::resize(std::uint64_t count) {
  for (std::uint64_t slot = count; slot < count_; ++slot) {
    if (get(clean_bits_, slot)) {
      put(clean_bits_, slot, false);
      --clean_count_;
    }
  }
  count_ = count;
  used_bits_.resize((count + 63) / 64);
  clean_bits_.resize((count + 63) / 64);
  clean_cursor_ = dirty_cursor_ = 0;
}

}  // namespace sluice::tier

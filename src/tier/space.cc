#include "tier/space.h"

#include <algorithm>
#include <bit>

namespace sluice::tier {

Space::Space(Store& store, Flusher& flusher, void* owner, void (*submit)(void* owner, Io& io))
    : store_(store), flusher_(flusher), owner_(owner), submit_(submit) {
  for (unsigned tier = 0; tier < most_tiers; ++tier) {
    resize(tier);
  }
  waiter_.owner = this;
  waiter_.done = [](FlushWaiter& waiter) { static_cast<Space*>(waiter.owner)->flush_asked_ = false; };
}

void Space::resize(unsigned tier) {
  const std::size_t words = (store_.slots[tier].count() + 63) / 64;
  leaving_[tier].left.resize(words);
  leaving_[tier].flushing.resize(words);
}

std::uint64_t Space::take_clean(unsigned tier) {
  return store_.device(tier) == nullptr ? no_slot : store_.slots[tier].take_clean();
}

std::uint64_t Space::take_any(unsigned tier) {
  if (store_.device(tier) == nullptr) {
    return no_slot;
  }
  const std::uint64_t slot = store_.slots[tier].take_dirty();
  return slot != no_slot ? slot : store_.slots[tier].take_clean();
}

void Space::give_back(Place place, bool written) {
  store_.slots[place.tier].release(place.slot, !written);
  news_ = true;
}

void Space::leave(Place place) {
  Leaving& leaving = leaving_[place.tier];
  leaving.left[place.slot / 64] |= std::uint64_t{1} << (place.slot % 64);
  ++leaving.left_count;
}

bool Space::is_expecting(unsigned tier) const {
  const Leaving& leaving = leaving_[tier];
  return leaving.left_count + leaving.flushing_count > 0 ||
         (store_.device(tier) != nullptr && store_.slots[tier].free() > store_.slots[tier].clean()) ||
         std::any_of(cleaners_.begin(), cleaners_.end(), [tier](const Cleaner& cleaner) {
           return cleaner.step != Zeroing::unused && cleaner.place.tier == tier;
         });
}

std::uint64_t Space::free(unsigned tier) const {
  return store_.slots[tier].free() + leaving_[tier].left_count + leaving_[tier].flushing_count;
}

void Space::flush_began() {
  for (Leaving& leaving : leaving_) {
    if (leaving.left_count > 0) {
      std::swap(leaving.left, leaving.flushing);
      std::swap(leaving.left_count, leaving.flushing_count);
    }
  }
  for (Cleaner& cleaner : cleaners_) {
    if (cleaner.step == Zeroing::zeroed) {
      cleaner.step = Zeroing::flushing;
    }
  }
}

void Space::flush_ended(bool good) {
  for (unsigned tier = 0; tier < most_tiers; ++tier) {
    Leaving& leaving = leaving_[tier];
    if (leaving.flushing_count == 0) {
      continue;
    }
    for (std::size_t word = 0; word < leaving.flushing.size(); ++word) {
      for (std::uint64_t bits = leaving.flushing[word]; bits != 0; bits &= bits - 1) {
        const std::uint64_t slot = word * 64 + static_cast<unsigned>(std::countr_zero(bits));
        if (good) {
          store_.slots[tier].release(slot, false);
        } else {
          leave({.tier = static_cast<std::uint8_t>(tier), .slot = slot});
        }
      }
      leaving.flushing[word] = 0;
    }
    leaving.flushing_count = 0;
    news_ = news_ || good;
  }
  for (Cleaner& cleaner : cleaners_) {
    if (cleaner.step == Zeroing::flushing) {
      cleaner.step = Zeroing::unused;
      --zeroing_;
      store_.slots[cleaner.place.tier].release(cleaner.place.slot, good);
      news_ = true;
    }
  }
}

void Space::hurry() {
  const bool leaving =
      std::any_of(leaving_.begin(), leaving_.end(), [](const Leaving& it) { return it.left_count > 0; });
  if (leaving && !flush_asked_) {
    flush_asked_ = true;
    flusher_.flush(waiter_);
  }
}

void Space::advance() {
  bool wants_flush = false;
  for (unsigned tier = 0; tier < store_.tier_count(); ++tier) {
    const Slots& slots = store_.slots[tier];
    if (store_.device(tier) == nullptr || slots.clean() >= std::min(wanted_clean, slots.count() / 4 + 1)) {
      continue;
    }
    wants_flush = wants_flush || leaving_[tier].left_count > 0;
    for (Cleaner& cleaner : cleaners_) {
      if (cleaner.step != Zeroing::unused) {
        continue;
      }
      const std::uint64_t slot = store_.slots[tier].take_dirty();
      if (slot == no_slot) {
        break;
      }
      cleaner.step = Zeroing::zeroing;
      cleaner.place = {.tier = static_cast<std::uint8_t>(tier), .slot = slot};
      ++zeroing_;
      Io& io = cleaner.io;
      io = Io{};
      io.op = Op::zero;
      io.tier = cleaner.place.tier;
      io.offset = store_.offset(cleaner.place);
      io.length = store_.chunk_size();
      io.owner = this;
      io.done = [](Io& it) {
        auto& space = *static_cast<Space*>(it.owner);
        for (Cleaner& one : space.cleaners_) {
          if (&one.io != &it) {
            continue;
          }
          one.step = Zeroing::zeroed;
          if (it.error != 0) {
            // The tier does not take it; the slot stays out of use until the volume is opened again.
            one.step = Zeroing::unused;
            --space.zeroing_;
          }
        }
      };
      submit_(owner_, io);
    }
  }
  wants_flush = wants_flush || std::any_of(cleaners_.begin(), cleaners_.end(), [](const Cleaner& cleaner) {
                  return cleaner.step == Zeroing::zeroed;
                });
  if (wants_flush && !flush_asked_) {
    flush_asked_ = true;
    flusher_.flush(waiter_);
  }
}

}  // namespace sluice::tier

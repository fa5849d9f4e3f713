// Free slots of every tier, and how a slot that is left becomes free again:
//
//   left (the record that left it was written)  --a flush that began later-->  free, not clean
//   free, not clean  --zeroed-->  --a flush-->  free, clean
//
// A chunk's first write needs a clean slot, so that what the write does not cover reads as zeros. A copy
// covers the whole slot and takes any.
#pragma once

#include <array>
#include <vector>

#include "tier/flusher.h"
#include "tier/store.h"

namespace sluice::tier {

class Space {
 public:
  // `submit` sends a request to its tier.
  Space(Store& store, Flusher& flusher, void* owner, void (*submit)(void* owner, Io& io));

  // For a first write; no_slot: none is clean now. Those of the reserve are not given.
  std::uint64_t take_clean(unsigned tier);
  // For a copy.
  std::uint64_t take_any(unsigned tier);
  // The slot was taken and never came into the map; `written`: it may have been written to.
  void give_back(Place place, bool written);
  // The record that left it was written just now.
  void leave(Place place);
  // Whether a slot may become free without anybody's doing.
  [[nodiscard]] bool is_expecting(unsigned tier) const;
  // Free slots, those that are on their way included.
  [[nodiscard]] std::uint64_t free(unsigned tier) const;

  // The tier was added.
  void resize(unsigned tier);

  void flush_began();
  void flush_ended(bool good);
  // Zeroes ahead, where clean slots run short. Returns whether somebody waits for a flush.
  void advance();
  // Slots that were left become free with the next flush: asks for one.
  void hurry();
  [[nodiscard]] bool idle() const { return zeroing_ == 0; }
  // True once after slots have become free or clean.
  bool take_news() { return std::exchange(news_, false); }

 private:
  struct Leaving {
    std::vector<std::uint64_t> left;      // bits: left since the last flush began
    std::vector<std::uint64_t> flushing;  // bits: the flush that runs covers them
    std::uint64_t left_count = 0;
    std::uint64_t flushing_count = 0;
  };
  enum class Zeroing : std::uint8_t { unused, zeroing, zeroed, flushing };
  struct Cleaner {
    Zeroing step = Zeroing::unused;
    Place place{};
    Io io{};
  };
  static constexpr std::uint64_t wanted_clean = 32;

  Store& store_;
  Flusher& flusher_;
  void* owner_;
  void (*submit_)(void* owner, Io& io);
  std::array<Leaving, most_tiers> leaving_{};
  std::array<Cleaner, 16> cleaners_{};
  unsigned zeroing_ = 0;
  bool flush_asked_ = false;
  FlushWaiter waiter_{};
  bool news_ = false;
};

}  // namespace sluice::tier

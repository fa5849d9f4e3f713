// Where each chunk of the volume is, how hot it is, and which slots of a tier are in use. All of it is plain
// memory, reserved when the volume opens; nothing here does I/O.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::tier {

inline constexpr std::uint8_t no_tier = 0xff;
inline constexpr std::uint64_t no_slot = (std::uint64_t{1} << 40) - 1;
inline constexpr unsigned most_tiers = 16;
inline constexpr unsigned most_copies = 4;  // of a chunk, the first one counted

struct Place {
  std::uint8_t tier = no_tier;
  std::uint64_t slot = no_slot;

  [[nodiscard]] bool exists() const { return tier != no_tier; }
  bool operator==(const Place&) const = default;
};

// What hints say about a chunk. Zero is: nothing was said.
struct Label {
  std::uint8_t kind = 0;     // 1 metadata, 2 data
  std::uint8_t bucket = 0;   // 1 + number of the file size's range
  std::uint8_t pattern = 0;  // 1 write-intensive, 2 read-intensive, 3 archival
  bool pinned = false;
  bool operator==(const Label&) const = default;
};

// One chunk, in memory and in images.
struct Entry {
  std::uint64_t packed = (std::uint64_t{no_tier} << 56);  // tier 8 bits, stream 16, slot 40
  std::uint16_t label = 0;
  std::uint16_t flags = 0;
  std::uint32_t last = 0;  // when it was last read or written, in seconds of Unix time

  [[nodiscard]] bool mapped() const { return (packed >> 56) != no_tier; }
  [[nodiscard]] Place place() const {
    return mapped() ? Place{static_cast<std::uint8_t>(packed >> 56), packed & no_slot} : Place{};
  }
  void set_place(Place place) {
    packed = (packed & (std::uint64_t{0xffff} << 40)) | (std::uint64_t{place.tier} << 56) |
             (place.exists() ? place.slot : 0);
  }
  [[nodiscard]] std::uint16_t stream() const { return static_cast<std::uint16_t>(packed >> 40); }
  void set_stream(std::uint16_t stream) {
    packed = (packed & ~(std::uint64_t{0xffff} << 40)) | (std::uint64_t{stream} << 40);
  }
  [[nodiscard]] Label hints() const;
  void set_hints(const Label& value);
};
static_assert(sizeof(Entry) == 16);

// Entry::flags. `busy`: the engine has a ChunkState for the chunk (in memory only).
inline constexpr std::uint16_t flag_busy = 1;
inline constexpr std::uint16_t flag_replicated = 2;
inline constexpr std::uint16_t flag_diverging =
    4;  // its copies are being written, and may differ after a crash
inline constexpr std::uint16_t flag_demoted = 8;  // its last move was to a slower tier
inline constexpr std::uint16_t flag_queued = 16;  // a redirect of it waits (in memory only)
inline constexpr std::uint16_t flags_stored = flag_replicated | flag_diverging | flag_demoted;

// Accesses of a chunk: those since the policy last looked, and the score of all before.
struct Heat {
  std::uint16_t reads = 0;
  std::uint16_t writes = 0;
  float score = 0;
};
static_assert(sizeof(Heat) == 8);

// Further copies of chunks. Room for a fixed number, found by chunk.
class Replicas {
 public:
  Replicas() = default;
  explicit Replicas(std::uint32_t most);

  // False when there is no room.
  bool add(std::uint64_t chunk, Place place);
  bool remove(std::uint64_t chunk, Place place);
  // The copies of a chunk; at most most_copies - 1.
  struct Copies {
    std::array<Place, most_copies - 1> places{};
    unsigned count = 0;
  };
  [[nodiscard]] Copies find(std::uint64_t chunk) const;
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::uint32_t most() const { return static_cast<std::uint32_t>(rows_.size()); }
  void for_each(const auto& call) const {
    for (const std::uint32_t head : heads_) {
      for (std::uint32_t i = head; i != none; i = rows_[i].next) {
        call(rows_[i].chunk, rows_[i].place);
      }
    }
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Row {
    std::uint64_t chunk = 0;
    Place place{};
    std::uint32_t next = none;
  };
  [[nodiscard]] std::size_t bucket(std::uint64_t chunk) const {
    return (chunk * 0x9e3779b97f4a7c15U >> 32) % heads_.size();
  }

  std::vector<std::uint32_t> heads_;
  std::vector<Row> rows_;
  std::uint32_t free_ = none;
  std::uint32_t count_ = 0;
};

// The slots of one tier. A free slot is clean (it reads as zeros, durably) or not known to be.
class Slots {
 public:
  Slots() = default;
  explicit Slots(std::uint64_t count);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t used() const { return used_; }
  [[nodiscard]] std::uint64_t clean() const { return clean_count_; }
  // Free, clean or not.
  [[nodiscard]] std::uint64_t free() const { return count_ - used_; }

  [[nodiscard]] bool is_used(std::uint64_t slot) const { return get(used_bits_, slot); }
  // A clean slot, marked used, or no_slot. Ascending from where the last one was found.
  std::uint64_t take_clean();
  // A free slot that is not clean, marked used while somebody cleans it, or no_slot.
  std::uint64_t take_dirty();
  // REQUIRES: the slot is free.
  void mark_used(std::uint64_t slot);
  void release(std::uint64_t slot, bool clean);
  // A free slot is found to be clean. REQUIRES: it is free.
  void mark_clean(std::uint64_t slot);
  // More slots, or fewer. REQUIRES: none of those cut off is used.
  void resize(std::uint64_t count);

 private:
  using Bits = std::vector<std::uint64_t>;
  static bool get(const Bits& bits, std::uint64_t i) { return (bits[i / 64] >> (i % 64) & 1) != 0; }
  static void put(Bits& bits, std::uint64_t i, bool value);

  std::uint64_t count_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t clean_count_ = 0;
  std::uint64_t clean_cursor_ = 0;
  std::uint64_t dirty_cursor_ = 0;
  Bits used_bits_;
  Bits clean_bits_;
};

}  // namespace sluice::tier

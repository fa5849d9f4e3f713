// What a volume keeps on its tiers, byte by byte. docs/internals/volume-format.md is the page to it.
//
// Everything is in blocks of 4 KiB, little-endian, each with a checksum over the whole block.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "tier/device.h"
#include "tier/map.h"

namespace sluice::tier {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

using Uuid = std::array<std::uint8_t, 16>;

struct BlockHead {
  std::array<char, 8> magic{};
  std::uint64_t checksum = 0;  // XXH3 of the block with this field zero
};

inline constexpr std::array<char, 8> label_magic = {'S', 'L', 'V', 'L', 'A', 'B', 'L', '1'};
inline constexpr std::array<char, 8> set_magic = {'S', 'L', 'V', 'S', 'E', 'T', '0', '1'};
inline constexpr std::array<char, 8> page_magic = {'S', 'L', 'V', 'P', 'A', 'G', 'E', '1'};
inline constexpr std::array<char, 8> journal_magic = {'S', 'L', 'V', 'J', 'R', 'N', 'L', '1'};

enum class TierState : std::uint8_t { none, present, removed };

struct TierRow {
  Uuid device{};
  std::array<char, 32> name{};
  std::uint64_t slots = 0;
  TierState state = TierState::none;
  std::uint8_t persistent = 0;
  std::array<std::uint8_t, 6> spare{};
};

// Blocks 0 and 1 of each tier; the one with the higher session counts.
struct LabelBlock {
  BlockHead head{};
  Uuid volume{};
  Uuid device{};
  std::uint32_t version = 1;
  std::uint32_t tier = 0;  // which row of `tiers` this device is
  std::uint64_t session = 0;
  std::uint64_t chunk_size = 0;
  std::uint64_t chunks = 0;       // of the volume
  std::uint64_t most_chunks = 0;  // that the images have room for
  std::uint64_t most_replicas = 0;
  std::uint64_t journal_blocks = 0;         // of each set
  std::uint64_t map_offset = 0;             // of the first set, on the two tiers that hold the map
  std::uint64_t slots_offset = 0;           // on this tier
  std::array<std::uint8_t, 2> map_tiers{};  // the second may be no_tier
  std::uint8_t clean = 0;                   // the session ended in order
  std::uint8_t stale_maps = 0;              // bits: which of map_tiers has an old copy
  std::array<std::uint8_t, 4> spare{};
  std::array<TierRow, most_tiers> tiers{};
  std::array<std::byte, 4096 - 16 - 32 - 8 - 64 - 8 - most_tiers * 64> rest{};
};

// The first block of a set. It is written last, so a set with a valid one is complete.
struct SetBlock {
  BlockHead head{};
  std::uint64_t generation = 0;
  std::uint64_t chunks = 0;
  std::uint64_t replicas = 0;
  std::array<std::byte, 4096 - 16 - 24> rest{};
};

struct PageItem {
  Entry entry{};
  Heat heat{};
};
inline constexpr std::size_t items_a_page = 169;
inline constexpr std::size_t replicas_a_page = 253;

struct ReplicaRow {
  std::uint64_t chunk = 0;
  std::uint64_t place = 0;  // tier << 56 | slot
};

struct PageHead {
  BlockHead head{};
  std::uint64_t generation = 0;
  std::uint64_t number = 0;  // counted through the set's entry pages, then its replica pages
};
struct EntryPage {
  PageHead page{};
  std::array<PageItem, items_a_page> items{};
  std::array<std::byte, 4096 - 32 - items_a_page * 24> rest{};
};
struct ReplicaPage {
  PageHead page{};
  std::array<ReplicaRow, replicas_a_page> rows{};
  std::array<std::byte, 4096 - 32 - replicas_a_page * 16> rest{};
};

enum class RecordType : std::uint8_t {
  none,
  entry,         // the chunk's entry is this
  add_replica,   // entry.place() is a further copy
  drop_replica,  // entry.place() is none any more
  resize,        // the volume has `chunk` chunks
};

struct Record {
  std::uint64_t chunk = 0;
  Entry entry{};
  RecordType type = RecordType::none;
  std::array<std::uint8_t, 7> spare{};
};
inline constexpr std::size_t records_a_block = 126;

// A journal is read from its first block as long as the generation is the set's, the numbers ascend by one
// and the session does not fall: what a crash left beyond a gap has an older session than what was written
// into the gap later.
struct JournalBlock {
  BlockHead head{};
  std::uint64_t generation = 0;
  std::uint64_t number = 0;
  std::uint64_t session = 0;
  std::uint64_t count = 0;
  std::array<Record, records_a_block> records{};
  std::array<std::byte, 4096 - 48 - records_a_block * 32> rest{};
};

static_assert(sizeof(TierRow) == 64 && sizeof(LabelBlock) == 4096 && sizeof(SetBlock) == 4096);
static_assert(sizeof(EntryPage) == 4096 && sizeof(ReplicaPage) == 4096 && sizeof(Record) == 32);
static_assert(sizeof(JournalBlock) == 4096);

// Fills in magic and checksum. REQUIRES: a block of one of the types above.
void seal(void* block, const std::array<char, 8>& magic);
[[nodiscard]] bool is_sealed(const void* block, const std::array<char, 8>& magic);

constexpr std::uint64_t pack(Place place) {
  return std::uint64_t{place.tier} << 56 | place.slot;
}
constexpr Place unpack(std::uint64_t packed) {
  return {.tier = static_cast<std::uint8_t>(packed >> 56), .slot = packed & no_slot};
}

// Where the parts of the two sets lie on a tier that holds the map.
struct MapLayout {
  explicit MapLayout(const LabelBlock& label);

  std::uint64_t entry_pages;
  std::uint64_t replica_pages;
  std::uint64_t journal_blocks;
  std::uint64_t offset;

  [[nodiscard]] std::uint64_t set_bytes() const {
    return (1 + entry_pages + replica_pages + journal_blocks) * block_size;
  }
  [[nodiscard]] std::uint64_t set(unsigned which) const { return offset + which * set_bytes(); }
  [[nodiscard]] std::uint64_t page(unsigned which, std::uint64_t number) const {
    return set(which) + (1 + number) * block_size;
  }
  [[nodiscard]] std::uint64_t journal(unsigned which, std::uint64_t number) const {
    return page(which, entry_pages + replica_pages + number);
  }
};

}  // namespace sluice::tier

#include "tier/format.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

namespace sluice::tier {
namespace {

std::uint64_t checksum(const void* block) {
  // The checksum's own field counts as zero.
  BlockHead head;
  std::memcpy(&head, block, sizeof head);
  head.checksum = 0;
  const std::uint64_t first = XXH3_64bits(&head, sizeof head);
  return XXH3_64bits_withSeed(static_cast<const std::byte*>(block) + sizeof head, block_size - sizeof head,
                              first);
}

}  // namespace

void seal(void* block, const std::array<char, 8>& magic) {
  BlockHead head;
  head.magic = magic;
  std::memcpy(block, &head, sizeof head);
  head.checksum = checksum(block);
  std::memcpy(block, &head, sizeof head);
}

bool is_sealed(const void* block, const std::array<char, 8>& magic) {
  BlockHead head;
  std::memcpy(&head, block, sizeof head);
  return head.magic == magic && head.checksum == checksum(block);
}

MapLayout::MapLayout(const LabelBlock& label)
    : entry_pages((label.most_chunks + items_a_page - 1) / items_a_page),
      replica_pages((label.most_replicas + replicas_a_page - 1) / replicas_a_page),
      journal_blocks(label.journal_blocks),
      offset(label.map_offset) {}

}  // namespace sluice::tier

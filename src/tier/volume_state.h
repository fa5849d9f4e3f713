// What Volume keeps of requests, chunks and moves under way. For the volume's own sources.
#pragma once

#include "tier/volume.h"

namespace sluice::tier {

inline constexpr std::uint64_t no_chunk = ~std::uint64_t{0};
inline constexpr std::size_t most_pieces = 512;
inline constexpr std::size_t most_operations = 1 << 16;
inline constexpr std::uint64_t window_size = 256 << 10;

// What a chunk is held for: new pieces wait, those under way come to their end, then it happens.
enum class Volume::Exclusive : std::uint8_t {
  none,
  unmap,        // all of it reads as zeros from now on
  drop_copies,  // only the first copy stays
  diverge,      // its copies may differ from now on, should this session not end in order
  promote,      // the copy in `target` becomes the first, the others go
  switch_tier,  // the move's copy becomes the first
  add_copy,     // the move's copy becomes a further one
  drop_cache,   // the prefetched copy goes
  give_up,      // the move was cancelled: its slot goes
};

// The part of a request that lies in one chunk.
struct Volume::Piece {
  Request* request = nullptr;
  ChunkState* state = nullptr;  // it is counted there
  std::uint64_t chunk = 0;
  std::uint64_t offset = 0;  // in the chunk
  std::uint64_t length = 0;
  std::byte* data = nullptr;
  Op op = Op::read;
  int error = 0;
  unsigned open = 0;    // requests to tiers that are not finished
  unsigned good = 0;    // those that succeeded, as bits
  unsigned tried = 0;   // tiers that a read has failed on, as bits
  bool cached = false;  // it reads from the prefetch buffer
  unsigned copies = 0;  // ios in use
  std::array<Place, most_copies + 1> places{};
  std::array<Io, most_copies + 1> ios{};
  Piece* next = nullptr;
  Volume* volume = nullptr;
};

// A chunk that is more than an entry of the map: its first write, a move, a change of its copies.
struct Volume::ChunkState {
  std::uint64_t chunk = no_chunk;
  std::uint32_t next = 0;  // 1 + index, in its bucket
  unsigned inflight = 0;   // pieces under way, of those that began before the state too
  PieceList held;          // wait until the chunk can be used
  // First write: the slot, and pieces whose data is there and whose record is not.
  Place fresh{};
  bool wants_slot = false;
  bool committing = false;
  PieceList unrecorded;
  // Exclusive use.
  Exclusive exclusive = Exclusive::none;
  bool running = false;
  Place target{};
  Replicas::Copies leaving{};
  Commit commit{};
  FlushWaiter flush{};
  Move* move = nullptr;
  // The prefetched copy: what lies before `cached_end` is there.
  Place cached{};
  std::uint64_t cached_end = 0;
  std::uint64_t cached_used = 0;
  Volume* volume = nullptr;
};

struct Volume::Move {
  Operation operation{};
  ChunkState* state = nullptr;
  Place from{};
  Place to{};
  std::uint64_t frontier = 0;  // what lies before it is copied, and written to both places
  std::uint64_t window = 0;    // length of what is copied now; 0: between two windows
  bool copied = false;         // the whole, and its flush is under way or done
  bool flushing = false;
  bool flushed = false;
  int cancelled = 0;  // errno
  Io io{};
  FlushWaiter flush{};
  std::byte* data = nullptr;
  bool active = false;
  Volume* volume = nullptr;
};

}  // namespace sluice::tier

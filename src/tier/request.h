// What a front asks of a volume.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tier/device.h"
#include "tier/flusher.h"

namespace sluice::tier {

// The front keeps it, and its data, alive until `done` was called.
struct Request {
  Op op = Op::read;
  bool fua = false;             // a write that is durable when it is done
  std::uint8_t priority = 128;  // 0 is served first
  Lane lane = Lane::foreground;
  std::uint64_t offset = 0;  // of the volume; offset and length in whole blocks
  std::uint64_t length = 0;
  std::byte* data = nullptr;  // aligned to a block
  int error = 0;              // errno, set before `done`
  void (*done)(Request&) = nullptr;
  void* owner = nullptr;

  // The engine's.
  std::uint64_t next_offset = 0;  // from where on no piece was made
  unsigned open = 0;              // pieces that are not finished
  Instant begun{};
  FlushWaiter waiter{};
  Request* next = nullptr;
};

}  // namespace sluice::tier

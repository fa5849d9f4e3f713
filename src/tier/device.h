// What a tier stores its slots on: a file, a block device, an NBD server, or memory in tests. Requests are
// asynchronous; one thread submits them and polls for what has completed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tier/instant.h"

namespace sluice::tier {

// Every offset and length is a multiple of this, and every buffer is aligned to it.
inline constexpr std::uint64_t block_size = 4096;

enum class Op : std::uint8_t { read, write, zero, flush };

// Who waits for a request. The scheduler serves foreground requests first.
enum class Lane : std::uint8_t { foreground, background };

// One request to a device. The owner keeps it, and what it points to, alive until `done` was called.
struct Io {
  Op op = Op::read;
  Lane lane = Lane::foreground;
  std::uint8_t priority = 128;  // within the foreground lane; 0 is served first
  std::uint8_t tier = 0;        // for whom the engine submits it
  int error = 0;                // errno, set before `done`
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::byte* data = nullptr;
  void (*done)(Io&) = nullptr;  // called from poll(), never from submit()
  void* owner = nullptr;
  Instant deadline = never;  // when a background request may no longer be deferred
  // The tier queue's.
  Instant queued{};
  Io* next = nullptr;
  void (*finished)(Io&) = nullptr;  // what `done` was when the request entered the queue
  void* queue = nullptr;
  void* device = nullptr;  // the device's own use
};

class Device {
 public:
  virtual ~Device() = default;

  // `zero` makes a range read as zeros and may free its space; it is as durable as a write: after a flush.
  // A flush covers the requests that completed before it was submitted.
  virtual void submit(Io& io) = 0;
  // Hands what was submitted to the system. submit() alone may only collect.
  virtual void kick() = 0;
  // Calls `done` of the requests that have completed. Never blocks.
  virtual void poll() = 0;
  // Blocks until something may have completed. For opening and closing a volume only.
  virtual void wait() = 0;

  [[nodiscard]] virtual std::uint64_t size() const = 0;
  // The first byte at or after the offset that may read as something else than zero; size() where there is
  // none. The offset itself is always a right answer.
  [[nodiscard]] virtual std::uint64_t next_data(std::uint64_t offset) const { return offset; }
};

}  // namespace sluice::tier

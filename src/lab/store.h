// Where the bytes of a device really are: in locked memory, or in a file that is read and written past the
// page cache. Neither waits for memory that the device itself would have to free.
//
// Calls give 0 or an errno. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace sluice::lab {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

// Offsets and lengths of a store are multiples of this.
inline constexpr std::size_t block_size = 4096;

class Store {
 public:
  Store() = default;
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // REQUIRES: block-aligned and within the size; so for all.
  virtual int read(std::uint64_t offset, Bytes out) = 0;
  virtual int write(std::uint64_t offset, ConstBytes data) = 0;
  // Reads as zeros from now on, and takes no room.
  virtual int discard(std::uint64_t offset, std::uint64_t length) = 0;
  // Another of the same size and kind, for a while and without a name.
  virtual Result<std::unique_ptr<Store>> scratch() = 0;
};

// All zeros; takes memory only where something was written.
Result<std::unique_ptr<Store>> memory_store(std::uint64_t size);
// An existing file keeps its data; it grows to the size, never shrinks.
Result<std::unique_ptr<Store>> file_store(const std::string& path, std::uint64_t size);

}  // namespace sluice::lab

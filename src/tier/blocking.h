// A device used with blocking calls, for what happens before and after requests are served.
#pragma once

#include <memory>
#include <span>

#include "base/result.h"
#include "tier/device.h"

namespace sluice::tier {

// Memory that direct I/O may use: aligned, zeroed, locked where the process locks its memory.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size);  // ends the process where there is no memory, as new does
  ~Buffer();
  Buffer(Buffer&& other) noexcept : data_(other.data_), size_(other.size_) { other.data_ = nullptr; }
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// All of it, with several requests at a time. The error has no path: the caller knows the tier.
Status transfer(Device& device, Op op, std::uint64_t offset, std::span<std::byte> data);
Status flush(Device& device);

}  // namespace sluice::tier

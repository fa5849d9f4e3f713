// The file that a profile reads and writes: nameless, in the place's folder, past the page cache where that
// is possible. It is gone with the process, however that ends.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/sys.h"

namespace sluice {

class WorkFile {
 public:
  // An empty one. An error says what to do about a folder that is missing, read-only or full.
  static Result<WorkFile> create(const std::string& folder);
  WorkFile(WorkFile&&) noexcept = default;
  WorkFile& operator=(WorkFile&&) noexcept = default;

  // Past the page cache; else the reason why not.
  [[nodiscard]] bool direct() const { return why_cached_.empty(); }
  [[nodiscard]] const std::string& why_cached() const { return why_cached_; }
  // Offsets, lengths and addresses of requests past the page cache are multiples of this.
  [[nodiscard]] std::uint64_t alignment() const { return alignment_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }

  // Writes on until it has that size, in pieces; asks before each whether to go on. Blocks that were only
  // reserved would be read from nowhere.
  Status grow(std::uint64_t size, const std::function<bool()>& go_on);

  // One request; the seconds that it took. REQUIRES: aligned, and within the size.
  Result<double> read(std::uint64_t offset, std::uint64_t length);
  Result<double> write(std::uint64_t offset, std::uint64_t length);
  // Write and fsync together.
  Result<double> write_synced(std::uint64_t offset, std::uint64_t length);

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  WorkFile() = default;
  Status reserve_buffer(std::uint64_t length);
  Result<double> timed(bool write, bool sync, std::uint64_t offset, std::uint64_t length);

  UniqueFd fd_;
  std::string folder_;
  std::string why_cached_;
  std::uint64_t alignment_ = 512;
  std::uint64_t size_ = 0;
  std::unique_ptr<std::byte[], Free> buffer_;
  std::uint64_t buffer_size_ = 0;
};

}  // namespace sluice

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

// Where it is measured. Held open: what is mounted there later is another place.
struct WorkFolder {
  UniqueFd fd;
  std::string shown;       // its path, for messages
  std::uint64_t keep = 0;  // bytes that stay free, whatever others write there meanwhile

  static Result<WorkFolder> open(const std::string& path, std::uint64_t keep);
  // A path by which it can be opened, also when it is mounted nowhere any more.
  [[nodiscard]] std::string path() const;
  [[nodiscard]] bool has_room(std::uint64_t bytes) const;
  // Whether its path still leads to it.
  [[nodiscard]] bool is_there() const;
};

class WorkFile {
 public:
  // An empty one. An error says what to do about a folder that is missing, read-only or full.
  // REQUIRES: the folder outlives it.
  static Result<WorkFile> create(const WorkFolder& folder);

  // Past the page cache; else the reason why not.
  [[nodiscard]] bool is_direct() const { return why_cached_.empty(); }
  [[nodiscard]] const std::string& why_cached() const { return why_cached_; }
  // Offsets, lengths and addresses of requests past the page cache are multiples of this.
  [[nodiscard]] std::uint64_t alignment() const { return alignment_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // How far the kernel reads ahead of sequential reads through the page cache, in bytes.
  [[nodiscard]] std::uint64_t readahead() const;

  // Writes on until it has that size, as far as that is aligned and there is room, in pieces; asks before
  // each whether to go on. Blocks that were only reserved would be read from nowhere.
  Status grow(std::uint64_t size, const std::function<bool()>& go_on);

  // The same file with a buffer of its own, for another thread.
  [[nodiscard]] Result<WorkFile> again() const;

  // One request; the seconds that it took. REQUIRES: within the size; of direct ones: aligned.
  Result<double> direct(bool write, std::uint64_t offset, std::uint64_t length);
  Result<double> cached(bool write, std::uint64_t offset, std::uint64_t length);
  // Whether that much can be appended.
  [[nodiscard]] bool has_room(std::uint64_t length) const { return folder_->has_room(length); }
  // A write through the page cache at the end, which moves.
  Result<double> append(std::uint64_t length);
  Result<double> sync(bool data_alone = false);
  // Written back, and out of the page cache.
  Status drop_cache();
  Status empty();

  // Of requests past the page cache, for other ways to make them.
  [[nodiscard]] int fd() const { return fd_.get(); }
  // What went wrong with one of those.
  [[nodiscard]] Error trouble(int number, bool write) const;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  WorkFile() = default;
  Status reserve_buffer(std::uint64_t length);
  Result<double> timed(int fd, bool write, std::uint64_t offset, std::uint64_t length);

  UniqueFd fd_;
  UniqueFd cached_;
  const WorkFolder* folder_ = nullptr;
  std::string why_cached_;
  std::uint64_t alignment_ = 512;
  std::uint64_t size_ = 0;
  std::unique_ptr<std::byte[], Free> buffer_;
  std::uint64_t buffer_size_ = 0;
};

}  // namespace sluice

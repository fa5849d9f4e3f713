// A file or a block device as a tier, past the page cache, through the volume's io_uring.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/sys.h"
#include "tier/ring.h"
#include "tier/scheduler.h"

namespace sluice::tier {

class FileDevice : public Device {
 public:
  // The path is a regular file of this user's, or a block device that nobody else uses (it stays locked).
  // `look_only` opens for reading and locks nothing.
  static Result<std::unique_ptr<FileDevice>> open(Ring& ring, const std::string& path, bool look_only);
  // Makes a file of that size with its space reserved; one that is there is EEXIST.
  static Status create(const std::string& path, std::uint64_t size);

  void submit(Io& io) override;
  void kick() override { ring_.kick(); }
  void poll() override;
  void wait() override { ring_.wait(); }
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] std::uint64_t next_data(std::uint64_t offset) const override;
  // Whether the page cache could not be passed by.
  [[nodiscard]] bool cached() const { return cached_; }
  [[nodiscard]] bool is_block_device() const { return block_device_; }

 private:
  explicit FileDevice(Ring& ring) : ring_(ring) {}

  Ring& ring_;
  UniqueFd fd_;
  Ring::Target target_{};
  IoList backlog_;
  std::uint64_t size_ = 0;
  bool block_device_ = false;
  bool cached_ = false;
};

}  // namespace sluice::tier

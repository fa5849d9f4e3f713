// io_uring, shared by the devices of a volume that are files or block devices, so that one system call
// submits to all of them and one descriptor tells of all.
#pragma once

#include <liburing.h>

#include <array>
#include <memory>
#include <vector>

#include "base/result.h"
#include "tier/device.h"

namespace sluice::tier {

class Ring {
 public:
  static Result<std::unique_ptr<Ring>> create();
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Readable when something has completed.
  [[nodiscard]] int fd() const { return ring_.ring_fd; }
  // How a device zeroes.
  enum class Zeroing : std::uint8_t { zero_range, punch_hole, write };
  // One descriptor with what was learned of it.
  struct Target {
    int fd = -1;
    Zeroing zeroing = Zeroing::zero_range;
  };
  // False: too many are under way; try again after poll().
  bool submit(Target& target, Io& io);
  void kick();
  void poll();
  void wait();
  [[nodiscard]] std::uint64_t system_calls() const { return system_calls_; }

 private:
  // A request under way; it may take several system requests, because direct I/O may be short.
  struct Slot {
    Io* io = nullptr;
    Target* target = nullptr;
    std::uint64_t done = 0;
    Slot* next = nullptr;
  };
  static constexpr unsigned entries = 1024;

  Ring() = default;
  void prepare(Slot& slot);
  void complete(Slot& slot, int result);

  io_uring ring_{};
  bool open_ = false;
  std::array<Slot, entries> slots_{};
  Slot* free_ = nullptr;
  unsigned under_way_ = 0;
  std::uint64_t system_calls_ = 0;
};

}  // namespace sluice::tier

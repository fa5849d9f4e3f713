// A device in memory for tests: completes requests in random order, loses power (a random part of what no
// flush has covered is gone, block by block), and fails on demand.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "tier/device.h"

namespace sluice::tier {

class TestDevice : public Device {
 public:
  TestDevice(std::uint64_t size, std::mt19937_64& random) : random_(random), now_(size), durable_(size) {}

  void submit(Io& io) override { waiting_.push_back(&io); }
  void kick() override {}
  void poll() override { complete(waiting_.empty() ? 0 : 1 + random_() % waiting_.size()); }
  void wait() override {}
  [[nodiscard]] std::uint64_t size() const override { return now_.size(); }
  [[nodiscard]] std::uint64_t next_data(std::uint64_t offset) const override {
    if (!sparse) {
      return offset;
    }
    const auto found = std::find_if(now_.begin() + static_cast<std::ptrdiff_t>(offset), now_.end(),
                                    [](std::byte byte) { return byte != std::byte{}; });
    return static_cast<std::uint64_t>(found - now_.begin()) / block_size * block_size;
  }

  // The power is cut: requests under way vanish; of the blocks written since the last flush some are there.
  void power_cut() {
    waiting_.clear();
    for (const auto& [block, data] : unflushed_) {
      if (random_() % 2 == 0) {
        std::copy(data.begin(), data.end(),
                  durable_.begin() + static_cast<std::ptrdiff_t>(block * block_size));
      }
    }
    unflushed_.clear();
    now_ = durable_;
  }
  // The server is killed: requests under way may have happened or not; what completed is there.
  void kill() {
    for (Io* io : waiting_) {
      if (random_() % 2 == 0) {
        perform(*io);
      }
    }
    waiting_.clear();
  }
  [[nodiscard]] std::vector<std::byte>& bytes() { return now_; }

  bool sparse = true;
  // errno for a request, or 0.
  std::function<int(const Io&)> fault;
  std::uint64_t writes = 0, reads = 0, flushes = 0;

 private:
  void complete(std::size_t count) {
    for (; count > 0 && !waiting_.empty(); --count) {
      const auto at = waiting_.begin() + static_cast<std::ptrdiff_t>(random_() % waiting_.size());
      Io& io = **at;
      waiting_.erase(at);
      io.error = fault ? fault(io) : 0;
      if (io.error == 0) {
        perform(io);
      }
      io.done(io);
    }
  }
  void perform(const Io& io) {
    switch (io.op) {
      case Op::read:
        ++reads;
        std::memcpy(io.data, now_.data() + io.offset, io.length);
        return;
      case Op::write:
      case Op::zero:
        ++writes;
        for (std::uint64_t done = 0; done < io.length; done += block_size) {
          std::byte* const at = now_.data() + io.offset + done;
          io.op == Op::zero ? void(std::memset(at, 0, block_size))
                            : void(std::memcpy(at, io.data + done, block_size));
          unflushed_[(io.offset + done) / block_size].assign(at, at + block_size);
        }
        return;
      case Op::flush:
        ++flushes;
        for (const auto& [block, data] : unflushed_) {
          std::copy(data.begin(), data.end(),
                    durable_.begin() + static_cast<std::ptrdiff_t>(block * block_size));
        }
        unflushed_.clear();
        return;
    }
  }

  std::mt19937_64& random_;
  std::vector<std::byte> now_;
  std::vector<std::byte> durable_;
  std::map<std::uint64_t, std::vector<std::byte>> unflushed_;
  std::vector<Io*> waiting_;
};

}  // namespace sluice::tier

// When the last operations of a thread ended.
#pragma once

#include <array>
#include <cstdint>

namespace sluice {

class RecentEnds {
 public:
  void add(std::int64_t end) { ends_[count_++ % ends_.size()] = end; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  // How many had ended then: of a thread, all that began before are followed by all that began after. Those
  // that are forgotten had.
  [[nodiscard]] std::uint64_t ended_by(std::int64_t time) const {
    std::uint64_t out = count_;
    while (out > 0 && count_ - out < ends_.size() && end_of(out) > time) {
      --out;
    }
    return out;
  }
  // Of the n-th, counted from 1. REQUIRES: it is one of the last eight
  [[nodiscard]] std::int64_t end_of(std::uint64_t n) const { return ends_[(n - 1) % ends_.size()]; }

 private:
  std::array<std::int64_t, 8> ends_ = {};
  std::uint64_t count_ = 0;
};

}  // namespace sluice

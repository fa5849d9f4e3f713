// So many of a kind, taken and given back by any thread, also in signal handlers: no allocation, no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sluice {

template <class T, std::size_t size>
class Pool {
 public:
  // As whoever had it before left it; null where all are taken.
  T* take() {
    std::uint64_t head = returned_.load();
    while (index_in(head) != 0) {
      const std::size_t index = index_in(head) - 1;
      if (returned_.compare_exchange_weak(head, changed(head, after_[index].load()))) {
        return &all_[index];
      }
    }
    const std::size_t index = fresh_.load() < size ? fresh_.fetch_add(1) : size;
    return index < size ? &all_[index] : nullptr;
  }

  // REQUIRES: it was taken here.
  void give_back(T* one) {
    const auto index = static_cast<std::size_t>(one - all_.data());
    std::uint64_t head = returned_.load();
    do {
      after_[index].store(static_cast<std::uint32_t>(index_in(head)));
    } while (!returned_.compare_exchange_weak(head, changed(head, static_cast<std::uint32_t>(index + 1))));
  }

 private:
  static std::size_t index_in(std::uint64_t head) { return head & 0xffffffff; }
  // The upper half counts changes, so that one taken and given back meanwhile is noticed.
  static std::uint64_t changed(std::uint64_t head, std::uint32_t index) {
    return (((head >> 32) + 1) << 32) | index;
  }

  std::array<T, size> all_;
  std::array<std::atomic<std::uint32_t>, size> after_ = {};  // the next free one, and one; 0 = none
  std::atomic<std::size_t> fresh_ = 0;
  std::atomic<std::uint64_t> returned_ = 0;
};

}  // namespace sluice

// What is written where a trace says that something was, but not what.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

inline constexpr std::size_t contents_bytes = std::size_t{1} << 20U;

// Bytes that cannot be made smaller, always the same. REQUIRES: aligned and a multiple of 8
inline void make_contents(void* to, std::size_t bytes) {
  std::uint64_t state = 0x9e3779b97f4a7c15U;
  auto* words = static_cast<std::uint64_t*>(to);
  for (std::size_t i = 0; i < bytes / sizeof state; ++i) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    words[i] = state;
  }
}

}  // namespace sluice

// The effective block size of a place: writes that do not begin or end at a multiple of it cost more (IOSIG
// 7.1, figure 6c). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace sluice {

inline constexpr std::uint64_t memory_page = 4096;  // of the page cache

// One flushed write.
struct Tooth {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  double seconds = 0;
};

// Of requests of one size, one after another: seconds = base + slope * size + tooth * blocks that are covered
// in part (none, one or two) + page_tooth where it ends inside of a page, in the mean. The page in which it
// begins was written just before; where the block is the page, that is all.
struct Sawtooth {
  std::uint64_t block = 0;
  double base = 0;
  double slope = 0;
  double tooth = 0;
  double page_tooth = 0;
  double error = 0;  // median of the relative deviations

  bool operator==(const Sawtooth&) const = default;
  // What such requests cost on top of requests whose size is a multiple of the block and of the page.
  [[nodiscard]] double extra(std::uint64_t size) const;
  [[nodiscard]] double at(std::uint64_t size) const;
};

// The block that explains the times best; nothing where none explains them clearly better than a straight
// line. Candidates are the page and the multiples of `grain` up to `largest`, from `likely` on (the file
// system's block, or 0); where that, or the page, explains them about as well as the best, it is that.
std::optional<Sawtooth> find_sawtooth(std::span<const Tooth> writes, std::uint64_t grain,
                                      std::uint64_t largest, std::uint64_t likely);

}  // namespace sluice

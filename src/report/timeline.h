// What happened when, in few cells however long it was: a grid of at most so many bins, of which only those
// that hold something are kept. Bins become twice as wide whenever time goes beyond them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace sluice {

enum class LaneKind : std::uint8_t { read, write, other };
inline constexpr std::size_t kinds = 3;

struct Cell {
  std::uint32_t bin = 0;
  std::uint64_t calls = 0;                            // that began in it
  std::array<std::uint64_t, 2> bytes = {};            // read and written by them
  std::array<std::uint64_t, kinds> nanoseconds = {};  // that calls spent in it, of all threads together
  // Which bands of the file they read and wrote, a bit each, its beginning the lowest.
  std::array<std::uint64_t, 2> bands = {};
  bool operator==(const Cell&) const = default;
};

// One row of the grid: cells by bin, each bin once.
class Lane {
 public:
  // The cell of a bin, made where it is missing. Fast for bins near the last one.
  Cell& at(std::uint32_t bin);
  // Two bins become one.
  void halve();
  void add(const Lane& lane);
  // Bytes of the file that a read or write of that bin moved. Bands become twice as wide when a file goes
  // beyond them.
  void touch(std::uint32_t bin, LaneKind kind, std::int64_t offset, std::uint64_t length);
  [[nodiscard]] std::uint64_t band() const { return band_; }
  [[nodiscard]] const std::vector<Cell>& cells() const { return cells_; }

 private:
  void widen();

  std::vector<Cell> cells_;
  std::uint64_t band_ = 4096;  // bytes
};

// Which bin is when.
class Grid {
 public:
  static constexpr std::uint32_t bins = 256;
  static constexpr std::int64_t latest = std::int64_t{1} << 60;  // nanoseconds; nothing is later

  // How often lanes have to be halved before something that ends then has a bin.
  unsigned grow_to(std::int64_t end);
  [[nodiscard]] std::uint32_t bin_of(std::int64_t time) const {
    return static_cast<std::uint32_t>(time / width_);
  }
  [[nodiscard]] std::int64_t width() const { return width_; }
  // A call of that kind, in every bin in which it lasted. REQUIRES: it has one, and 0 <= begin.
  void put(Lane& lane, LaneKind kind, std::int64_t begin, std::int64_t duration, std::uint64_t bytes) const;

 private:
  std::int64_t width_ = 1000;  // nanoseconds
};

}  // namespace sluice

#include "report/timeline.h"

#include <algorithm>

namespace sluice {
namespace {

void add_to(Cell& cell, const Cell& more) {
  cell.calls += more.calls;
  for (std::size_t i = 0; i < cell.bytes.size(); ++i) {
    cell.bytes[i] += more.bytes[i];
    cell.bands[i] |= more.bands[i];
  }
  for (std::size_t i = 0; i < kinds; ++i) {
    cell.nanoseconds[i] += more.nanoseconds[i];
  }
}

// Every two bits become one.
std::uint64_t fold(std::uint64_t bits) {
  bits = (bits | bits >> 1U) & 0x5555555555555555;
  bits = (bits | bits >> 1U) & 0x3333333333333333;
  bits = (bits | bits >> 2U) & 0x0f0f0f0f0f0f0f0f;
  bits = (bits | bits >> 4U) & 0x00ff00ff00ff00ff;
  bits = (bits | bits >> 8U) & 0x0000ffff0000ffff;
  return (bits | bits >> 16U) & 0x00000000ffffffff;
}

}  // namespace

Cell& Lane::at(std::uint32_t bin) {
  auto place = cells_.end();
  while (place != cells_.begin() && (place - 1)->bin > bin) {
    --place;
  }
  if (place != cells_.begin() && (place - 1)->bin == bin) {
    return *(place - 1);
  }
  return *cells_.insert(place, Cell{.bin = bin});
}

void Lane::halve() {
  std::vector<Cell> out;
  for (Cell cell : cells_) {
    cell.bin /= 2;
    if (!out.empty() && out.back().bin == cell.bin) {
      add_to(out.back(), cell);
    } else {
      out.push_back(cell);
    }
  }
  cells_ = std::move(out);
}

void Lane::add(const Lane& lane) {
  while (band_ < lane.band_) {
    widen();
  }
  for (Cell cell : lane.cells_) {
    for (std::uint64_t band = lane.band_; band < band_; band *= 2) {
      cell.bands = {fold(cell.bands[0]), fold(cell.bands[1])};
    }
    add_to(at(cell.bin), cell);
  }
}

void Lane::widen() {
  band_ *= 2;
  for (Cell& cell : cells_) {
    cell.bands = {fold(cell.bands[0]), fold(cell.bands[1])};
  }
}

void Lane::touch(std::uint32_t bin, LaneKind kind, std::int64_t offset, std::uint64_t length) {
  constexpr std::uint64_t bits = 64;
  constexpr std::uint64_t largest = std::uint64_t{1} << 62U;
  if (offset < 0 || length == 0 || kind == LaneKind::other) {
    return;
  }
  const std::uint64_t begin = std::min(static_cast<std::uint64_t>(offset), largest);
  const std::uint64_t last = begin + std::min(length, largest) - 1;
  while (last / band_ >= bits) {
    widen();
  }
  const std::uint64_t from = ~std::uint64_t{0} << begin / band_;
  const std::uint64_t to = ~std::uint64_t{0} >> (bits - 1 - last / band_);
  at(bin).bands[static_cast<std::size_t>(kind)] |= from & to;
}

unsigned Grid::grow_to(std::int64_t end) {
  unsigned out = 0;
  while (end >= width_ * bins) {
    width_ *= 2;
    ++out;
  }
  return out;
}

void Grid::put(Lane& lane, LaneKind kind, std::int64_t begin, std::int64_t duration,
               std::uint64_t bytes) const {
  const std::int64_t end = begin + duration;
  const std::uint32_t first = bin_of(begin);
  for (std::uint32_t bin = bin_of(end);; --bin) {
    const std::int64_t inside = std::min(end, (bin + 1) * width_) - std::max(begin, bin * width_);
    if (inside > 0 || bin == first) {
      Cell& cell = lane.at(bin);
      cell.nanoseconds[static_cast<std::size_t>(kind)] += static_cast<std::uint64_t>(inside);
      if (bin == first) {
        ++cell.calls;
        if (kind != LaneKind::other) {
          cell.bytes[static_cast<std::size_t>(kind)] += bytes;
        }
        return;
      }
    }
  }
}

}  // namespace sluice

#include "fronts/preload/mappings.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "fronts/preload/file.h"
#include "pipeline/area.h"
#include "pipeline/heard.h"

namespace sluice::preload {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;

  Range() = default;
  Range(const void* at, std::size_t length)
      : begin(reinterpret_cast<std::uintptr_t>(at)), end(begin + std::max<std::size_t>(length, 1)) {}
};

// `version` counts what happens to a place; modulo 4: 0 free, 1 being made, 2 taken. What was read while it
// stayed the same belongs together.
struct Mapping {
  std::atomic<std::uint32_t> version = 0;
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::uintptr_t> end = 0;
  std::atomic<off_t> offset = 0;  // of the file, where it begins
  std::atomic<int> fd = -1;       // may be another file's by now
  std::atomic<std::uint64_t> device = 0;
  std::atomic<std::uint64_t> inode = 0;
  std::atomic<AreaFile*> row = nullptr;  // null where nobody counts

  [[nodiscard]] bool overlaps(const Range& range) const {
    return begin.load(relaxed) < range.end && range.begin < end.load(relaxed);
  }
};

std::array<Mapping, 128> mappings;
std::atomic<std::size_t> used = 0;  // those after were never taken

bool is_taken(std::uint32_t version) {
  return version % 4 == 2;
}

template <class Function>
void for_each_in(const Range& range, Function function) {
  const std::size_t end = used.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < end; ++i) {
    const std::uint32_t version = mappings[i].version.load(std::memory_order_acquire);
    if (is_taken(version) && mappings[i].overlaps(range)) {
      function(mappings[i], version);
    }
  }
}

}  // namespace

void remember_mapping(const void* at, std::size_t length, int fd, off_t offset) {
  const Held file = managed(fd, SLUICE_ADVISE);
  if (!file) {
    return;
  }
  for (std::size_t i = 0; i < mappings.size(); ++i) {
    Mapping& mapping = mappings[i];
    std::uint32_t version = mapping.version.load(relaxed);
    if (version % 4 != 0 || !mapping.version.compare_exchange_strong(version, version + 1)) {
      continue;
    }
    const Range range(at, length);
    mapping.begin.store(range.begin, relaxed);
    mapping.end.store(range.end, relaxed);
    mapping.offset.store(offset, relaxed);
    mapping.fd.store(fd, relaxed);
    mapping.device.store(file->device, relaxed);
    mapping.inode.store(file->inode, relaxed);
    mapping.row.store(this_area()->known_file(file->path), relaxed);
    mapping.version.store(version + 2, std::memory_order_release);
    std::size_t seen = used.load(relaxed);
    while (seen < i + 1 && !used.compare_exchange_weak(seen, i + 1)) {
    }
    return;
  }
}

void forget_mappings(const void* at, std::size_t length) {
  for_each_in(Range(at, length), [](Mapping& mapping, std::uint32_t version) {
    mapping.version.compare_exchange_strong(version, version + 2);
  });
}

void advise_mappings(const void* at, std::size_t length, int flags) {
  constexpr auto acquire = std::memory_order_acquire;  // the version is looked at after all of them
  const Range range(at, length);
  for_each_in(range, [&](const Mapping& mapping, std::uint32_t version) {
    const std::uintptr_t begin = mapping.begin.load(acquire);
    const std::uintptr_t first = std::max(begin, range.begin);
    const std::uintptr_t last = std::min(mapping.end.load(acquire), range.end);
    const std::int64_t offset = mapping.offset.load(acquire) + static_cast<std::int64_t>(first - begin);
    const int fd = mapping.fd.load(acquire);
    const std::uint64_t device = mapping.device.load(acquire);
    const std::uint64_t inode = mapping.inode.load(acquire);
    AreaFile* row = mapping.row.load(acquire);
    if (mapping.version.load(relaxed) != version) {
      return;
    }
    if (is_file(fd, device, inode)) {
      advise(fd, offset, last - first, flags);
    } else if (row != nullptr) {
      hear(row->heard, flags);
    }
  });
}

}  // namespace sluice::preload

#include "pipeline/area.h"

#include <cstring>

namespace sluice {
namespace {

std::atomic<Area*> area_of_process = nullptr;

template <class T>
T* at(Area* area, std::uint64_t offset) {
  return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(area) + offset);
}
template <class T>
const T* at(const Area* area, std::uint64_t offset) {
  return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(area) + offset);
}

// Fowler, Noll and Vo.
std::uint64_t hash(std::string_view text) {
  std::uint64_t out = 0xcbf29ce484222325;
  for (const char c : text) {
    out = (out ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return out ^ (out >> 32);
}

}  // namespace

Area* this_area() {
  return area_of_process.load(std::memory_order_acquire);
}

void set_area(Area* area) {
  area_of_process.store(area, std::memory_order_release);
}

bool is_area(const void* memory, std::size_t bytes) {
  const auto* area = static_cast<const Area*>(memory);
  return bytes >= sizeof(Area) && area->magic == area_magic && area->version == area_version &&
         area->bytes == bytes && area->files + area_files * sizeof(AreaFile) <= bytes;
}

std::span<const AreaRule> Area::all_rules() const {
  return {at<AreaRule>(this, rules), rule_count};
}

std::span<const PatternToken> Area::tokens_of(const AreaRule& rule) const {
  return {at<PatternToken>(this, tokens) + rule.tokens, rule.token_count};
}

std::string_view Area::prefix_of(const AreaRule& rule) const {
  return {at<char>(this, text) + rule.prefix, rule.prefix_size};
}

std::string_view Area::stages_of(const AreaRule& rule) const {
  return {at<char>(this, text) + rule.stages, rule.stages_size};
}

const AreaRule* Area::rule_for(std::string_view path) const {
  for (const AreaRule& rule : all_rules()) {
    const std::string_view prefix = prefix_of(rule);
    if (path.starts_with(prefix) && pattern_matches(tokens_of(rule), path.substr(prefix.size()))) {
      return &rule;
    }
  }
  return nullptr;
}

std::span<AreaFile> Area::all_files() {
  return {at<AreaFile>(this, files), area_files};
}

std::string_view Area::path_of(const AreaFile& file) const {
  return {at<char>(this, paths) + file.path, file.path_size};
}

// A row is claimed by one, filled, and shown to the others. Who finds one that is being made takes the next
// instead of waiting for somebody who may have been killed: a file then has two rows, which the account adds
// up.
AreaFile* Area::file(std::string_view path) {
  const std::span<AreaFile> rows = all_files();
  const std::uint64_t first = hash(path);
  for (std::uint64_t i = 0; i < rows.size(); ++i) {
    AreaFile& row = rows[(first + i) & (rows.size() - 1)];
    std::uint32_t state = row.state.load(std::memory_order_acquire);
    if (state == 2 && path_of(row) == path) {
      return &row;
    }
    if (state != 0 || !row.state.compare_exchange_strong(state, 1)) {
      continue;
    }
    const auto size = static_cast<std::uint32_t>(path.size());
    const std::uint32_t used = paths_used.fetch_add(size);
    if (used + size > area_paths) {
      paths_used.fetch_sub(size);
      row.state.store(0, std::memory_order_release);
      break;
    }
    std::memcpy(at<char>(this, paths) + used, path.data(), size);
    row.path = used;
    row.path_size = size;
    row.state.store(2, std::memory_order_release);
    return &row;
  }
  return nullptr;
}

}  // namespace sluice

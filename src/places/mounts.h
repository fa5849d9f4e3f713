// The mount table as a walker sees it: which mounts are covered by others, and on which one a path lies.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mountinfo.h"

namespace sluice {

class Mounts {
 public:
  explicit Mounts(std::vector<Mount> mounts);
  ~Mounts() = default;
  Mounts(const Mounts&) = delete;
  Mounts& operator=(const Mounts&) = delete;

  [[nodiscard]] const std::vector<Mount>& all() const { return mounts_; }
  // No path leads there: a later mount lies on the same point or above it.
  [[nodiscard]] bool hidden(const Mount& mount) const;
  // The visible mount that holds the path (absolute, without . and ..), or null. Text only; links are not
  // followed.
  [[nodiscard]] const Mount* holder(std::string_view path) const;

 private:
  bool covered(const Mount& mount) const;

  std::vector<Mount> mounts_;
  std::unordered_map<std::uint64_t, std::size_t> by_id_;
  // Views into mounts_. Children of one parent by their point; the later of two wins.
  std::unordered_map<std::uint64_t, std::unordered_map<std::string_view, std::size_t>> children_;
  std::unordered_map<std::string_view, std::size_t> visible_;
  std::vector<bool> hidden_;
};

// True when the path is the folder or lies below it. REQUIRES: both absolute and normal.
bool lies_in(std::string_view path, std::string_view folder);

// The path without its last component; "/" for "/" and for "/a".
std::string_view above(std::string_view path);

}  // namespace sluice

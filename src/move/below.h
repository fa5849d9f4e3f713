// What is below a folder, by descriptors and without following any link. Few files are open at once, however
// deep it is.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/sys.h"

namespace sluice {

// "a" and "b" -> "a/b"; either may be empty.
std::string child(const std::string& path, const std::string& name);

// A folder below another. None, and errno, where it cannot be opened.
UniqueFd open_below(int folder, std::string_view path);

Result<std::vector<std::string>> names_in(int folder);

// The entries of a tree by their paths in it, "" being the uppermost.
class Below {
 public:
  Below(int root, std::string name) : root_(root), name_(std::move(name)) {}

  // The folder that has the entry, until this is asked again, and its name there; -1, and errno, where that
  // folder cannot be opened. Neighbours are cheap one after another.
  std::pair<int, std::string> at(const std::string& path);
  // The entry itself, a folder.
  [[nodiscard]] UniqueFd open(const std::string& path) const { return open_below(root_, child(name_, path)); }

 private:
  int root_;
  std::string name_;
  std::string last_;  // whose descriptor is folder_
  UniqueFd folder_;
};

}  // namespace sluice

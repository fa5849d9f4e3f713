// Files of a trace that have one glob, because their names are alike and so is what is done to them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "learn/words.h"

namespace sluice {

// A file as names see it.
struct NamedFile {
  std::string_view path;
  Behaviour behaviour;
  bool wanted = true;  // else it only must not be taken in by a glob of others
};

struct Family {
  std::string pattern;             // absolute glob
  std::vector<std::size_t> files;  // of those given
  bool alike = true;               // false: no glob tells apart those that behave otherwise
};

// No glob matches a file that is not in the family, unless that behaves as all in it do. The names of
// `folders` are taken literally in paths below them. `by_name` false: each file is for itself.
std::vector<Family> families_of(const std::vector<NamedFile>& files, const std::vector<std::string>& folders,
                                bool by_name);

}  // namespace sluice

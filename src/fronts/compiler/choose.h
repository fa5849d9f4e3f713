// The place for an intent, chosen while compiling: asked of the program, so that the compiler sees what a
// user would.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sluice {

struct Choice {
  std::string folder;                // empty: no place can take the data
  std::vector<std::string> reasons;  // then, why each of them cannot
};

// `program` by full path; empty: looked for in bin/ above `plugin`, the plug-in's own file, then in PATH.
// Asks each time; callers remember.
Result<Choice> choose_place(const std::string& words, const std::string& program, const std::string& plugin);

}  // namespace sluice

// What was learned, as lines of source: `#pragma sig` before the statements that open the files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/learn.h"
#include "trace/site.h"

namespace sluice {

// A line of source, or a call of which none is known.
struct LearnedPragma {
  std::optional<SourceLine> where;    // nothing where not even the function is known
  std::string site;                   // the first of those that are this line
  std::string intent;                 // the words that all families have in common; "" = there are none
  std::vector<std::string> families;  // their globs
  std::uint64_t opens = 0;

  // Whether a pragma can be put there.
  [[nodiscard]] bool has_line() const;
};

// By file and line; what has none comes last. ENODATA where the trace has no sites, ENOENT where there is no
// addr2line.
Result<std::vector<LearnedPragma>> pragmas_of(const Lessons& lessons);
// "FILE:LINE: #pragma sig WORDS  // which files", and comments, which begin with #.
std::string pragmas_text(const Lessons& lessons, const std::vector<LearnedPragma>& pragmas);
Json pragmas_json(const std::vector<LearnedPragma>& pragmas);

}  // namespace sluice

// Path globs of rules files. * and ? stay within one path component, ** crosses them (a component of its own:
// **/ is any number of folders, none included), [a-z] and [!a-z] are classes, a backslash takes the next
// character literally. Bytes, not characters; matching takes time linear in path times pattern.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/pattern.h"
#include "base/result.h"

namespace sluice {

class Glob {
 public:
  static Result<Glob> parse(std::string_view pattern);
  // A pattern as somebody wrote it, absolute: one that is not is below `folder`. Without empty, "." and ".."
  // components, as the paths have none that it is compared with.
  static Result<std::string> whole(std::string_view pattern, std::string_view folder);
  // A pattern that matches this text alone.
  static std::string literal(std::string_view text);

  [[nodiscard]] bool matches(std::string_view path) const;
  // Whether any path matches both.
  [[nodiscard]] bool overlaps(const Glob& other) const;
  // How many characters of the pattern stand for themselves: the measure of a rule's strength.
  [[nodiscard]] std::size_t literals() const { return literals_; }
  // What every matching path begins with, and what follows it.
  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  [[nodiscard]] std::span<const PatternToken> tokens() const { return tokens_; }

 private:
  std::vector<PatternToken> tokens_;  // what follows the prefix
  std::string prefix_;                // what every matching path begins with
  std::size_t literals_ = 0;
};

}  // namespace sluice

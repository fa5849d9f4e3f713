// Where a statement ends, from the text of a source file: a pragma is about the statement that follows it,
// and the compiler keeps no record of where that was. Pure.
#pragma once

#include <compare>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// In bytes, both from 1, as compilers count.
struct Position {
  unsigned line = 1;
  unsigned column = 1;
  auto operator<=>(const Position&) const = default;
};

// A line of the file, without its end; nothing behind the last one. Asked in rising order; what it gave is
// not looked at again after the next call.
using LineSource = std::function<std::optional<std::string_view>(unsigned line)>;

struct StatementText {
  Position end;                    // of the `;`, or of the brace that begins or ends a block
  std::vector<std::string> words;  // the identifiers in it, in order
};

// The statement that begins at `from`. A `;` or `{` within parentheses does not end it, nor the braces of an
// initializer. Between #if and #endif all branches belong to it, since only the preprocessor knows which
// holds. The next `#pragma sig` ends it in any case.
StatementText read_statement(const LineSource& lines, Position from);

}  // namespace sluice

// A table for people: columns line up, and shrink where the terminal is too narrow. Cells hold display text
// (escape() paths first).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/terminal.h"

namespace sluice {

enum class Align { left, right };
enum class Shrink { never, end, middle };  // what a cell loses first; paths lose their middle

struct Column {
  std::string_view title;
  Align align = Align::left;
  Shrink shrink = Shrink::never;
  int drop = 0;  // where even shrinking is not enough, columns with the highest number go first; 0 = never
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: one cell a column. The colour is of the whole row.
  void add(std::vector<std::string> cells, Colour colour = Colour::plain);
  // Two blanks between columns, title line in bold, no blank at line ends.
  [[nodiscard]] std::string print(const Style& style) const;

 private:
  [[nodiscard]] std::vector<std::size_t> natural_widths() const;
  void fit(std::vector<std::size_t>& widths, std::size_t limit) const;

  struct Row {
    std::vector<std::string> cells;
    Colour colour;
  };
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

// At most `limit` columns wide, with … where text was left out. REQUIRES: limit > 0.
std::string shorten(std::string_view text, std::size_t limit, Shrink shrink);

}  // namespace sluice

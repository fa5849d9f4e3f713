#include "base/table.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "base/text.h"

namespace sluice {
namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t narrowest = 8;  // a shrunk column keeps at least this much

// The longest prefix (or suffix) that is not wider than `limit`, cut between characters.
std::string_view prefix(std::string_view text, std::size_t limit) {
  std::size_t size = text.size();
  while (size > 0 && (width(text.substr(0, size)) > limit || !is_utf8(text.substr(0, size)))) {
    --size;
  }
  return text.substr(0, size);
}

std::string_view suffix(std::string_view text, std::size_t limit) {
  std::size_t start = 0;
  while (start < text.size() && (width(text.substr(start)) > limit || !is_utf8(text.substr(start)))) {
    ++start;
  }
  return text.substr(start);
}

}  // namespace

std::string shorten(std::string_view text, std::size_t limit, Shrink shrink) {
  if (width(text) <= limit) {
    return std::string(text);
  }
  const std::size_t room = limit - 1;
  const std::size_t tail = shrink == Shrink::middle ? room / 2 : 0;
  return std::string(prefix(text, room - tail)) + "…" + std::string(suffix(text, tail));
}

void Table::add(std::vector<std::string> cells, Colour colour) {
  assert(cells.size() == columns_.size());
  rows_.push_back({.cells = std::move(cells), .colour = colour});
}

std::vector<std::size_t> Table::natural_widths() const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t widest = width(columns_[i].title);
    for (const Row& row : rows_) {
      widest = std::max(widest, width(row.cells[i]));
    }
    out.push_back(widest);
  }
  return out;
}

// Takes from the widest column that may shrink, then drops columns, until the rest fits or nothing is left to
// do. A dropped column has width 0.
void Table::fit(std::vector<std::size_t>& widths, std::size_t limit) const {
  const auto total = [&] {
    const auto shown =
        static_cast<std::size_t>(std::count_if(widths.begin(), widths.end(), [](auto w) { return w > 0; }));
    return std::accumulate(widths.begin(), widths.end(), gap * (std::max<std::size_t>(shown, 1) - 1));
  };
  const std::vector<std::size_t> natural = widths;
  while (total() > limit) {
    std::size_t widest = columns_.size();
    std::size_t first = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const bool can = columns_[i].shrink != Shrink::never && widths[i] > narrowest;
      if (can && (widest == columns_.size() || widths[i] > widths[widest])) {
        widest = i;
      }
      if (widths[i] > 0 && columns_[i].drop > 0 &&
          (first == columns_.size() || columns_[i].drop > columns_[first].drop)) {
        first = i;
      }
    }
    if (widest < columns_.size()) {
      --widths[widest];
    } else if (first < columns_.size()) {
      widths[first] = 0;
      // The room it leaves is for the others.
      for (std::size_t i = 0; i < widths.size(); ++i) {
        widths[i] = widths[i] == 0 ? 0 : natural[i];
      }
    } else {
      return;
    }
  }
}

std::string Table::print(const Style& style) const {
  std::vector<std::size_t> widths = natural_widths();
  if (style.width > 0) {
    fit(widths, style.width);
  }
  const auto line = [&](const auto& cell, Colour colour) {
    std::string out;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] == 0) {
        continue;
      }
      const std::string text = shorten(cell(i), widths[i], columns_[i].shrink);
      const std::string blanks(widths[i] - std::min(width(text), widths[i]), ' ');
      out += columns_[i].align == Align::right ? blanks + text : text + blanks;
      out += std::string(gap, ' ');
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return style.paint(colour, out) + "\n";
  };
  std::string out = line([&](std::size_t i) { return columns_[i].title; }, Colour::bold);
  for (const Row& row : rows_) {
    out += line([&](std::size_t i) { return std::string_view(row.cells[i]); }, row.colour);
  }
  return out;
}

}  // namespace sluice

// The words of a pragma as the compiler read them: a text for the one parser, and where each byte of it came
// from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "intent/parse.h"

namespace sluice {

class PragmaWords {
 public:
  // `place` is a number of the caller's for the first byte. `blank`: blanks stood before it.
  void add(std::string_view spelling, unsigned place, bool blank);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool empty() const { return pieces_.empty(); }

  // The place of the piece in which a character of the text stands, and how many bytes into it. Columns count
  // characters from 1, as those of a Fault; behind the end is the end of the last piece.
  struct Spot {
    unsigned place = 0;
    unsigned offset = 0;
  };
  [[nodiscard]] Spot at(std::size_t column) const;

 private:
  struct Piece {
    std::size_t begin;
    unsigned place;
  };
  std::string text_;
  std::vector<Piece> pieces_;
};

// A fault as a compiler says it: the column is in front of its message and not in it.
struct Complaint {
  std::string message;
  std::string instead;  // what to write in place of the underlined part, where that is known
};
Complaint complaint(const Fault& fault);

}  // namespace sluice

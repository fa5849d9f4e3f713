#include "fronts/compiler/words.h"

#include <cctype>

#include "base/text.h"

namespace sluice {
namespace {

// "unknown word 'x' at column 3" -> "unknown word 'x'"
std::string without_columns(std::string text) {
  for (const std::string_view mark : {" at column ", " (column "}) {
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
      std::size_t end = at + mark.size();
      const std::size_t digits = end;
      while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) {
        ++end;
      }
      if (end == digits) {
        at = end;
        continue;
      }
      if (mark.find('(') != std::string_view::npos && end < text.size() && text[end] == ')') {
        ++end;
      }
      text.erase(at, end - at);
    }
  }
  return text;
}

}  // namespace

void PragmaWords::add(std::string_view spelling, unsigned place, bool blank) {
  if (blank && !text_.empty()) {
    text_ += ' ';
  }
  pieces_.push_back({.begin = text_.size(), .place = place});
  text_ += spelling;
}

PragmaWords::Spot PragmaWords::at(std::size_t column) const {
  std::size_t byte = 0;
  for (std::size_t left = column; byte < text_.size(); ++byte) {
    const bool begins = (static_cast<unsigned char>(text_[byte]) & 0xC0) != 0x80;
    if (begins && --left == 0) {
      break;
    }
  }
  Spot out;
  for (const Piece& piece : pieces_) {
    if (piece.begin <= byte) {
      out = {.place = piece.place, .offset = static_cast<unsigned>(byte - piece.begin)};
    }
  }
  return out;
}

Complaint complaint(const Fault& fault) {
  constexpr std::string_view ask = "did you mean '";
  Complaint out{.message = without_columns(fault.message), .instead = {}};
  if (!fault.advice.empty()) {
    out.message += "; " + fault.advice;
  }
  if (fault.advice.starts_with(ask)) {
    const std::string_view rest = std::string_view(fault.advice).substr(ask.size());
    out.instead = rest.substr(0, rest.find('\''));
  }
  return out;
}

}  // namespace sluice

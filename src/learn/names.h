// Which parts of a path are a number, a date or a hash that another run would have otherwise, and globs that
// stand for several of such paths.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct NamePart {
  enum Kind : unsigned char {
    text,
    number,  // becomes a * where it differs between files
    stamp    // a date, hash or something drawn by chance: becomes a * at once
  };
  std::string_view text_of;
  Kind kind = text;
};

// The parts of a path one after another; those of its first `fixed` bytes are one text.
std::vector<NamePart> parts_of(std::string_view path, std::size_t fixed);
// The same for all paths that differ in numbers and stamps alone.
std::string skeleton_of(const std::vector<NamePart>& parts);

// How much a part that differs may stand for.
enum class Width {
  any,      // *
  digits,   // [0-9]*, where they are numbers
  letters,  // as many of [0-9] or [0-9a-zA-Z] as they all have
};
// A glob that matches all of them. REQUIRES: one skeleton; at least one path.
std::string glob_of(const std::vector<std::vector<NamePart>>& all, Width width);
// A pattern for one path; bytes that no text file can hold become ?.
std::string glob_text(std::string_view text);

}  // namespace sluice

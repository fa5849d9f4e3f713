// A line that Sluice says on standard error out of somebody's program. Nothing is allocated, and what is too
// long is cut off.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace sluice {

class Line {
 public:
  Line() { add("sluice: "); }

  // As it is.
  Line& add(std::string_view text);
  // As escape() and quote() of base/text.h do it: a path may have line breaks, and bytes that a terminal acts
  // upon.
  Line& escape(std::string_view text);
  Line& quote(std::string_view text) { return add("'").escape(text).add("'"); }

  [[nodiscard]] std::string_view text() const { return {bytes_.data(), size_}; }
  // By a bare system call, with a line break. Not where a file of the program's own took the place of
  // standard error.
  void say();

 private:
  // All of it or nothing.
  bool put(std::string_view text);

  std::array<char, 4096 + 512> bytes_ = {};
  std::size_t size_ = 0;
};

// What standard error is, when a program starts.
void note_standard_error();

}  // namespace sluice

// What standard output and standard error are, and how to write on them for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice {

enum class Colour { plain, bold, dim, red, green, yellow };

// How one stream wants its text. Standard output in a pipe: no colour, no width.
struct Style {
  bool colour = false;
  std::size_t width = 0;  // columns to fit into, 0 = any

  [[nodiscard]] std::string paint(Colour colour_, std::string_view text) const;
};

enum class ColourChoice { automatic, always, never };

// Of a file descriptor. Automatic colour: only on a terminal, not with NO_COLOR set, not with TERM=dumb.
// The width is the terminal's, or $COLUMNS where that is set.
Style style_of(int fd, ColourChoice choice);
bool is_terminal(int fd);
// To standard error in one write; where nobody can be told, nothing is.
void tell(std::string_view text);

// Breaks text at blanks so that no line is longer than `width`, each line after `indent` blanks.
std::string wrap(std::string_view text, std::size_t width, std::size_t indent);

// One line on a terminal that is rewritten while work goes on: "probing 3 of 14 mounts". Shown only when
// standard error is a terminal and the work has lasted a second; wiped at the end.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap enough to call in a loop: rewrites at most ten times a second.
  void show(std::string_view text);

 private:
  double started_;
  double shown_ = 0;
  bool terminal_;
};

}  // namespace sluice

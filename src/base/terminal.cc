#include "base/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/units.h"

namespace sluice {
namespace {

std::size_t terminal_width(int fd) {
  if (const auto columns = parse_count(environment("COLUMNS")); columns && *columns > 0) {
    return *columns;
  }
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void write_error(std::string_view text) {
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

std::string Style::paint(Colour colour_, std::string_view text) const {
  if (!colour || colour_ == Colour::plain || text.empty()) {
    return std::string(text);
  }
  int code = 0;
  switch (colour_) {
    case Colour::plain:
      break;
    case Colour::bold:
      code = 1;
      break;
    case Colour::dim:
      code = 2;
      break;
    case Colour::red:
      code = 31;
      break;
    case Colour::green:
      code = 32;
      break;
    case Colour::yellow:
      code = 33;
      break;
  }
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

bool is_terminal(int fd) {
  return isatty(fd) == 1;
}

void tell(std::string_view text) {
  [[maybe_unused]] const ssize_t told = sys().write(STDERR_FILENO, text.data(), text.size());
}

Style style_of(int fd, ColourChoice choice) {
  const bool terminal = is_terminal(fd);
  const bool wanted = terminal && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  return {.colour = choice == ColourChoice::always || (choice == ColourChoice::automatic && wanted),
          .width = terminal ? terminal_width(fd) : 0};
}

std::string wrap(std::string_view text, std::size_t width_, std::size_t indent) {
  const std::string margin(indent, ' ');
  std::string out;
  std::string line;
  for (const std::string_view word : split_blanks(text)) {
    if (!line.empty() && indent + width(line) + 1 + width(word) > width_) {
      out += margin + line + "\n";
      line.clear();
    }
    if (!line.empty()) {
      line += ' ';
    }
    line += word;
  }
  return line.empty() ? out : out + margin + line + "\n";
}

Progress::Progress() : started_(steady_seconds()), terminal_(is_terminal(STDERR_FILENO)) {}

Progress::~Progress() {
  if (shown_ > 0) {
    write_error("\r\x1b[K");
  }
}

void Progress::show(std::string_view text) {
  if (!terminal_) {
    return;
  }
  const double time = steady_seconds();
  if (time - started_ < 1 || time - shown_ < 0.1) {
    return;
  }
  shown_ = time;
  std::string line = escape(text);
  if (const std::size_t limit = terminal_width(STDERR_FILENO) - 1; line.size() > limit) {
    line.resize(limit);
  }
  write_error("\r\x1b[K" + line);
}

}  // namespace sluice

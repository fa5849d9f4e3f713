#include "trace/import/strace_line.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "trace/import/strace_names.h"

namespace sluice {
namespace {

constexpr std::int64_t second = 1'000'000'000;

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

template <class T>
std::optional<T> take_number(std::string_view& text, int base = 10) {
  T out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  if (error != std::errc() || end == text.data()) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return out;
}

// ".123456" in nanoseconds; 0 where there is none.
std::int64_t take_fraction(std::string_view& text) {
  if (!text.starts_with('.')) {
    return 0;
  }
  text.remove_prefix(1);
  std::int64_t out = 0;
  std::int64_t unit = second / 10;
  while (!text.empty() && is_digit(text.front())) {
    out += (text.front() - '0') * unit;
    unit /= 10;
    text.remove_prefix(1);
  }
  return out;
}

// "[pid  12] ", "12  ", "12<name> "; 0 where it is a time.
std::optional<std::uint32_t> take_task(std::string_view& text) {
  std::string_view rest = text;
  const bool brackets = rest.starts_with("[pid ");
  if (brackets) {
    rest.remove_prefix(5);
    skip_blanks(rest);
  }
  const auto task = take_number<std::uint32_t>(rest);
  if (!task) {
    return brackets ? std::nullopt : std::optional(0U);
  }
  if (rest.starts_with('<')) {
    rest.remove_prefix(std::min(rest.find('>'), rest.size() - 1) + 1);
  }
  if (brackets) {
    if (!rest.starts_with(']')) {
      return std::nullopt;
    }
    rest.remove_prefix(1);
  } else if (!rest.starts_with(' ')) {
    return 0U;  // a time
  }
  skip_blanks(rest);
  text = rest;
  return task;
}

bool take_time(std::string_view& text, StraceLine& out) {
  std::string_view rest = text;
  const auto whole = take_number<std::uint32_t>(rest);
  if (!whole) {
    return false;
  }
  if (rest.starts_with(':')) {
    rest.remove_prefix(1);
    const auto minutes = take_number<std::uint32_t>(rest);
    if (!minutes || !rest.starts_with(':')) {
      return false;
    }
    rest.remove_prefix(1);
    const auto seconds = take_number<std::uint32_t>(rest);
    if (!seconds || *whole > 23 || *minutes > 59 || *seconds > 60) {
      return false;
    }
    out.time = ((*whole * 60 + *minutes) * 60 + *seconds) * second;
    out.clock = StraceLine::Clock::day;
  } else if (rest.starts_with('.')) {
    out.time = *whole * second;
    out.clock = *whole < 100'000'000 ? StraceLine::Clock::relative : StraceLine::Clock::epoch;
  } else {
    return false;
  }
  out.time += take_fraction(rest);
  if (!rest.starts_with(' ')) {
    return false;
  }
  skip_blanks(rest);
  text = rest;
  return true;
}

// Behind what "<" begins: 3</a<char 1:3>>, 3<TCP:[1->2]>. In brackets a ">" is none, save in a path, whose
// own are escaped.
std::size_t annotation_end(std::string_view text, std::size_t at) {
  const bool is_path = at + 1 < text.size() && text[at + 1] == '/';
  int depth = 0;
  int brackets = 0;
  for (; at < text.size(); ++at) {
    const char letter = text[at];
    if (!is_path && (letter == '[' || letter == ']')) {
      brackets += letter == '[' ? 1 : -1;
    } else if (brackets <= 0 && letter == '<') {
      ++depth;
    } else if (brackets <= 0 && letter == '>' && --depth == 0) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

std::size_t string_end(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

// Whether a "<" there begins what -y says: behind a number, or AT_FDCWD.
bool begins_annotation(std::string_view text, std::size_t at) {
  return at > 0 && (is_digit(text[at - 1]) || text.substr(0, at).ends_with("AT_FDCWD"));
}

// Takes the arguments apart; where the parenthesis ends, or npos.
std::size_t split_arguments(std::string_view text, std::vector<std::string_view>& out) {
  int depth = 0;
  std::size_t begin = 0;
  const auto give = [&](std::size_t end) {
    const std::string_view argument = trim(text.substr(begin, end - begin));
    if (!argument.empty()) {
      out.push_back(argument);
    }
    begin = end + 1;
  };
  for (std::size_t at = 0; at < text.size();) {
    const char letter = text[at];
    if (letter == '"') {
      at = string_end(text, at);
    } else if (letter == '<' && begins_annotation(text, at)) {
      at = annotation_end(text, at);
    } else if (letter == '/' && text.substr(at).starts_with("/*")) {
      at = text.find("*/", at);
      at = at == std::string_view::npos ? at : at + 2;
    } else {
      if (letter == '(' || letter == '[' || letter == '{') {
        ++depth;
      } else if (letter == ')' && depth == 0) {
        give(at);
        return at + 1;
      } else if (letter == ')' || letter == ']' || letter == '}') {
        --depth;
      } else if (letter == ',' && depth == 0) {
        give(at);
      }
      ++at;
    }
    if (at == std::string_view::npos) {
      return at;
    }
  }
  return std::string_view::npos;
}

std::optional<std::int64_t> duration_at_end(std::string_view text) {
  text = trim(text);
  const std::size_t begin = text.rfind('<');
  if (begin == std::string_view::npos || !text.ends_with('>')) {
    return std::nullopt;
  }
  std::string_view number = text.substr(begin + 1, text.size() - begin - 2);
  const auto whole = take_number<std::uint32_t>(number);
  if (!whole || !number.starts_with('.')) {
    return std::nullopt;
  }
  const std::int64_t fraction = take_fraction(number);
  return number.empty() ? std::optional(*whole * second + fraction) : std::nullopt;
}

}  // namespace

std::optional<StraceLine> parse_strace_line(std::string_view text) {
  StraceLine out;
  const auto task = take_task(text);
  if (!task) {
    return std::nullopt;
  }
  out.task = *task;
  if (!take_time(text, out)) {
    return std::nullopt;
  }
  constexpr std::string_view unfinished = "<unfinished ...>";
  if (text.starts_with("+++ ")) {
    out.kind = StraceLine::Kind::ended;
    return out;
  }
  if (text.starts_with("--- ") || text.starts_with("strace: ")) {
    return out;
  }
  if (text.starts_with("<... ")) {
    text.remove_prefix(5);
    const std::size_t end = text.find(" resumed>");
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    out.kind = StraceLine::Kind::resumed;
    out.name = text.substr(0, end);
    out.rest = text.substr(end + 9);
    return out;
  }
  const std::size_t parenthesis = text.find('(');
  if (parenthesis == 0 || parenthesis == std::string_view::npos ||
      !std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(parenthesis), [](char letter) {
        return is_digit(letter) || letter == '_' || (letter >= 'a' && letter <= 'z') ||
               (letter >= 'A' && letter <= 'Z');
      })) {
    return std::nullopt;
  }
  out.name = text.substr(0, parenthesis);
  out.rest = text.substr(parenthesis + 1);
  out.kind = StraceLine::Kind::call;
  if (trim(out.rest).ends_with(unfinished)) {
    out.kind = StraceLine::Kind::unfinished;
    out.rest = out.rest.substr(0, out.rest.rfind(unfinished));
  }
  return out;
}

std::optional<StraceFd> parse_strace_fd(std::string_view text) {
  StraceFd out;
  if (text.starts_with("AT_FDCWD")) {
    text.remove_prefix(8);
  } else {
    const auto number = take_number<int>(text);
    if (!number) {
      return std::nullopt;
    }
    out.number = *number;
  }
  if (!text.starts_with('<')) {
    return out;
  }
  const std::size_t end = annotation_end(text, 0);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  out.path = text.substr(1, end - 2);
  out.is_other = !out.path.starts_with('/') || out.path.find('<') != std::string_view::npos;
  return out;
}

std::optional<StraceCall> parse_strace_call(std::string_view text) {
  StraceCall out;
  const std::size_t end = split_arguments(text, out.arguments);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  text = trim(text.substr(end));
  if (!text.starts_with('=')) {
    return std::nullopt;
  }
  text = trim(text.substr(1));
  out.duration = duration_at_end(text);
  if (text.starts_with('?')) {
    return out;
  }
  out.annotation = text;
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) {
    text.remove_prefix(2);
    const auto number = take_number<std::uint64_t>(text, 16);
    if (!number) {
      return std::nullopt;
    }
    out.result = static_cast<std::int64_t>(*number);
  } else {
    const auto number = take_number<std::int64_t>(text);
    if (!number) {
      return std::nullopt;
    }
    out.result = *number;
  }
  out.has_result = true;
  skip_blanks(text);
  if (out.result == -1 && text.starts_with('E')) {
    out.result = -errno_of(text.substr(0, text.find(' ')));
  }
  return out;
}

std::optional<std::string> parse_strace_string(std::string_view text) {
  if (!text.starts_with('"') || string_end(text, 0) != text.size()) {
    return std::nullopt;
  }
  return unescape_strace(text.substr(1, text.size() - 2));
}

std::optional<std::int64_t> parse_strace_number(std::string_view text) {
  const int base = text.starts_with("0x") ? 16 : text.starts_with('0') ? 8 : 10;
  text.remove_prefix(base == 16 ? 2 : 0);
  if (base == 16 || text.starts_with('1')) {  // lengths may be above what is signed
    std::string_view rest = text;
    const auto number = take_number<std::uint64_t>(rest, base);
    if (number && rest.empty() && *number > std::numeric_limits<std::int64_t>::max()) {
      return static_cast<std::int64_t>(*number);
    }
  }
  const auto number = take_number<std::int64_t>(text, base);
  return number && text.empty() ? number : std::nullopt;
}

}  // namespace sluice

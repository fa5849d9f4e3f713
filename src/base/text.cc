#include "base/text.h"

#include <fmt/format.h>
#include <wchar.h>

#include <algorithm>
#include <clocale>
#include <cstdint>
#include <numeric>

#include "base/utf8.h"

namespace sluice {
namespace {

// wcwidth needs a UTF-8 locale; the program's own may be plain C.
int columns(std::uint32_t character) {
  static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (character < 0x7F || utf8 == nullptr) {
    return 1;
  }
  const locale_t before = uselocale(utf8);
  const int out = wcwidth(static_cast<wchar_t>(character));
  uselocale(before);
  return out;
}

}  // namespace

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') {
      c = static_cast<char>(c - 'A' + 'a');
    }
  }
  return out;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t start = text.find_first_not_of(blanks);
  if (start == std::string_view::npos) {
    return {};
  }
  return text.substr(start, text.find_last_not_of(blanks) - start + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t at = text.find(separator);
    out.push_back(text.substr(0, at));
    if (at == std::string_view::npos) {
      return out;
    }
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string_view> split_blanks(std::string_view text) {
  std::vector<std::string_view> out;
  while (!(text = trim(text)).empty()) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n"), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

bool is_utf8(std::string_view text) {
  std::size_t length = 0;
  for (; !text.empty(); text.remove_prefix(length)) {
    if (decode(text, length) == not_utf8) {
      return false;
    }
  }
  return true;
}

std::size_t width(std::string_view text) {
  std::size_t out = 0;
  std::size_t length = 0;
  for (; !text.empty(); text.remove_prefix(length)) {
    out += static_cast<std::size_t>(std::max(columns(decode(text, length)), 0));
  }
  return out;
}

std::size_t characters(std::string_view text) {
  std::size_t out = 0;
  std::size_t length = 0;
  for (; !text.empty(); text.remove_prefix(length)) {
    decode(text, length);
    ++out;
  }
  return out;
}

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::size_t length = 0;
  for (; !text.empty(); text.remove_prefix(length)) {
    const std::uint32_t character = decode(text, length);
    if (character == '\\') {
      out += "\\\\";
    } else if (character == '\n') {
      out += "\\n";
    } else if (character == '\t') {
      out += "\\t";
    } else if (character == not_utf8 || character < 0x20 || character == 0x7F || columns(character) < 0 ||
               is_deceptive(character)) {
      for (const char c : text.substr(0, length)) {
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      }
    } else {
      out += text.substr(0, length);
    }
  }
  return out;
}

std::string escape_xml(std::string_view text) {
  std::string out;
  for (const char c : escape(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string quote(std::string_view text) {
  return "'" + escape(text) + "'";
}

std::string plural(std::uint64_t count, std::string_view what) {
  return std::to_string(count).append(" ").append(what).append(count == 1            ? ""
                                                               : what.ends_with('s') ? "es"
                                                                                     : "s");
}

std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += c == '"' || c == '\\' ? "\\" : "";
      out += c;
    }
  }
  return out + "\"";
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string typed = lower(word.substr(0, 64));
  // Close enough: a third of the letters wrong, at least one, at most three.
  std::size_t best = std::clamp<std::size_t>(typed.size() / 3, 1, 3) + 1;
  std::string_view found;
  for (const std::string_view candidate : candidates) {
    const std::string known = lower(candidate);
    // Edit distance with transposition (optimal string alignment), three rows.
    std::vector<std::size_t> two_above(known.size() + 1);
    std::vector<std::size_t> above(known.size() + 1);
    std::vector<std::size_t> row(known.size() + 1);
    std::iota(above.begin(), above.end(), std::size_t{0});
    for (std::size_t i = 1; i <= typed.size(); ++i) {
      row[0] = i;
      for (std::size_t j = 1; j <= known.size(); ++j) {
        const std::size_t differs = typed[i - 1] == known[j - 1] ? 0 : 1;
        row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + differs});
        if (i > 1 && j > 1 && typed[i - 1] == known[j - 2] && typed[i - 2] == known[j - 1]) {
          row[j] = std::min(row[j], two_above[j - 2] + 1);
        }
      }
      std::swap(two_above, above);
      std::swap(above, row);
    }
    if (above[known.size()] < best) {
      best = above[known.size()];
      found = candidate;
    }
  }
  return found;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view found = nearest(word, candidates);
  return found.empty() ? std::string{} : fmt::format("did you mean '{}'?", found);
}

}  // namespace sluice

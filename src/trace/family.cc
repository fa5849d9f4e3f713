#include "trace/family.h"

#include <algorithm>

namespace sluice {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

std::string family_of(std::string_view path) {
  constexpr std::size_t long_word = 8;
  std::string out;
  for (std::size_t at = 0; at < path.size();) {
    const auto length_of = [&](auto is_one) {
      const auto rest = path.substr(at);
      return static_cast<std::size_t>(std::find_if_not(rest.begin(), rest.end(), is_one) - rest.begin());
    };
    const std::size_t size = length_of(is_word);
    const std::string_view word = path.substr(at, size);
    if (size >= long_word && std::all_of(word.begin(), word.end(), is_hex) &&
        std::any_of(word.begin(), word.end(), is_digit)) {
      out += '*';
      at += size;
      continue;
    }
    for (const std::size_t end = at + std::max<std::size_t>(size, 1); at < end;) {
      const std::size_t digits = length_of(is_digit);
      out += digits > 0 ? '*' : path[at];
      at += std::max<std::size_t>(digits, 1);
    }
  }
  return out;
}

}  // namespace sluice

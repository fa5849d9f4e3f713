// A path glob in the form in which it is matched. Header only and without any allocation: the library that
// stands inside other programs uses it as it is.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace sluice {

struct PatternToken {
  enum class Kind : std::uint8_t { byte, set, star, deep_star, folders };
  Kind kind;
  std::bitset<256> bytes;
};
inline constexpr std::size_t most_pattern_tokens = 1023;

// Simulates the automaton: `now` holds every token that may match next. `folders` has a second state, "inside
// a folder's name", kept in `inside`. REQUIRES: no more tokens than there may be.
inline bool pattern_matches(std::span<const PatternToken> tokens, std::string_view path) {
  using Kind = PatternToken::Kind;
  using States = std::bitset<most_pattern_tokens + 1>;
  const std::size_t end = tokens.size();
  States now;
  States inside;
  const auto enter = [&](States& states, std::size_t at) {
    for (states.set(at); at < end && tokens[at].kind != Kind::byte && tokens[at].kind != Kind::set; ++at) {
      states.set(at + 1);  // every kind of star may match nothing
    }
  };
  enter(now, 0);
  for (const char c : path) {
    States next;
    States inside_next;
    for (std::size_t i = 0; i < end; ++i) {
      if (!now[i] && !inside[i]) {
        continue;
      }
      switch (tokens[i].kind) {
        case Kind::byte:
        case Kind::set:
          if (tokens[i].bytes[static_cast<unsigned char>(c)]) {
            enter(next, i + 1);
          }
          break;
        case Kind::star:
          if (c != '/') {
            enter(next, i);
          }
          break;
        case Kind::deep_star:
          enter(next, i);
          break;
        case Kind::folders:
          if (c == '/') {
            enter(next, i);
          } else {
            inside_next.set(i);
          }
          break;
      }
    }
    now = next;
    inside = inside_next;
  }
  return now[end];
}

}  // namespace sluice

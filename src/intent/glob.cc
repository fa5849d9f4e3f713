#include "intent/glob.h"

#include <fmt/format.h>

#include "base/text.h"

namespace sluice {
namespace {

std::size_t byte(char c) {
  return static_cast<unsigned char>(c);
}

}  // namespace

Result<Glob> Glob::parse(std::string_view pattern) {
  Glob out;
  const auto literal = [&](char c) {
    ++out.literals_;
    if (out.tokens_.empty()) {
      out.prefix_ += c;
      return;
    }
    Token token{.kind = Kind::byte, .bytes = {}};
    token.bytes.set(byte(c));
    out.tokens_.push_back(token);
  };
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const bool at_start = i == 0 || pattern[i - 1] == '/';
    if (c == '\\') {
      if (++i == pattern.size()) {
        return bad_input(fmt::format("glob {} ends in a backslash", quote(pattern)));
      }
      literal(pattern[i]);
    } else if (c == '?') {
      Token token{.kind = Kind::set, .bytes = {}};
      token.bytes.set().reset('/');
      out.tokens_.push_back(token);
    } else if (c == '*') {
      std::size_t end = i;
      while (end < pattern.size() && pattern[end] == '*') {
        ++end;
      }
      const std::size_t stars = end - i;
      if (stars == 1) {
        out.tokens_.push_back({.kind = Kind::star, .bytes = {}});
      } else if (stars == 2 && at_start && end == pattern.size()) {
        out.tokens_.push_back({.kind = Kind::deep_star, .bytes = {}});
      } else if (stars == 2 && at_start && pattern[end] == '/') {
        out.tokens_.push_back({.kind = Kind::folders, .bytes = {}});
        ++end;
      } else {
        return bad_input(fmt::format("glob {}: '**' must be a path component of its own", quote(pattern)),
                         "write a/**/b, **/b or a/**");
      }
      i = end - 1;
    } else if (c == '[') {
      Token token{.kind = Kind::set, .bytes = {}};
      std::size_t at = i + 1;
      const bool negated = at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^');
      at += negated ? 1 : 0;
      const std::size_t first = at;
      for (; at < pattern.size() && (pattern[at] != ']' || at == first); ++at) {
        std::size_t low = byte(pattern[at]);
        std::size_t high = low;
        if (at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']') {
          high = byte(pattern[at + 2]);
          at += 2;
        }
        if (low > high) {
          return bad_input(fmt::format("glob {}: the range in '[...]' runs backwards", quote(pattern)));
        }
        for (; low <= high; ++low) {
          token.bytes.set(low);
        }
      }
      if (at >= pattern.size()) {
        return bad_input(fmt::format("glob {}: '[' at column {} is not closed", quote(pattern), i + 1),
                         "close it with ']' or write \\[");
      }
      if (negated) {
        token.bytes.flip();
      }
      token.bytes.reset('/');
      out.tokens_.push_back(token);
      i = at;
    } else {
      literal(c);
    }
  }
  return out;
}

// Simulates the automaton: `now` holds every token that may match next. `folders` has a second state, "inside
// a folder's name", kept in `inside`.
bool Glob::matches(std::string_view path) const {
  // Most rules are about other folders: they are out before anything is set up.
  if (!path.starts_with(prefix_)) {
    return false;
  }
  path.remove_prefix(prefix_.size());
  const std::size_t end = tokens_.size();
  std::vector<char> now(end + 1);
  std::vector<char> next(end + 1);
  std::vector<char> inside(end + 1);
  std::vector<char> inside_next(end + 1);
  const auto enter = [&](std::vector<char>& states, std::size_t at) {
    for (states[at] = 1; at < end && tokens_[at].kind != Kind::byte && tokens_[at].kind != Kind::set; ++at) {
      states[at + 1] = 1;  // every kind of star may match nothing
    }
  };
  enter(now, 0);
  for (const char c : path) {
    next.assign(end + 1, 0);
    inside_next.assign(end + 1, 0);
    for (std::size_t i = 0; i < end; ++i) {
      const Token& token = tokens_[i];
      switch (token.kind) {
        case Kind::byte:
        case Kind::set:
          if (now[i] != 0 && token.bytes.test(byte(c))) {
            enter(next, i + 1);
          }
          break;
        case Kind::star:
          if (now[i] != 0 && c != '/') {
            enter(next, i);
          }
          break;
        case Kind::deep_star:
          if (now[i] != 0) {
            enter(next, i);
          }
          break;
        case Kind::folders:
          if (now[i] != 0 || inside[i] != 0) {
            if (c == '/') {
              enter(next, i);
            } else {
              inside_next[i] = 1;
            }
          }
          break;
      }
    }
    std::swap(now, next);
    std::swap(inside, inside_next);
  }
  return now[end] != 0;
}

}  // namespace sluice

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
    PatternToken token{.kind = PatternToken::Kind::byte, .bytes = {}};
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
      PatternToken token{.kind = PatternToken::Kind::set, .bytes = {}};
      token.bytes.set().reset('/');
      out.tokens_.push_back(token);
    } else if (c == '*') {
      std::size_t end = i;
      while (end < pattern.size() && pattern[end] == '*') {
        ++end;
      }
      const std::size_t stars = end - i;
      if (stars == 1) {
        out.tokens_.push_back({.kind = PatternToken::Kind::star, .bytes = {}});
      } else if (stars == 2 && at_start && end == pattern.size()) {
        out.tokens_.push_back({.kind = PatternToken::Kind::deep_star, .bytes = {}});
      } else if (stars == 2 && at_start && pattern[end] == '/') {
        out.tokens_.push_back({.kind = PatternToken::Kind::folders, .bytes = {}});
        ++end;
      } else {
        return bad_input(fmt::format("glob {}: '**' must be a path component of its own", quote(pattern)),
                         "write a/**/b, **/b or a/**");
      }
      i = end - 1;
    } else if (c == '[') {
      PatternToken token{.kind = PatternToken::Kind::set, .bytes = {}};
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
  if (out.tokens_.size() > most_pattern_tokens) {
    return bad_input(fmt::format("glob {} is too long", quote(pattern)));
  }
  return out;
}

std::string Glob::literal(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) {
      out += '\\';
    }
    out += c;
  }
  return out;
}

bool Glob::matches(std::string_view path) const {
  // Most rules are about other folders: they are out before anything is set up.
  return path.starts_with(prefix_) && pattern_matches(tokens_, path.substr(prefix_.size()));
}

}  // namespace sluice

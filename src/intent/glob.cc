#include "intent/glob.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/text.h"

namespace sluice {
namespace {

std::size_t byte(char c) {
  return static_cast<unsigned char>(c);
}

using Bytes = std::bitset<256>;

// Where a walk through the tokens is, and with `folders` whether inside of a folder's name.
struct At {
  std::size_t token = 0;
  bool inside = false;
  auto operator<=>(const At&) const = default;
};
// One byte further: which bytes lead there.
struct Step {
  Bytes bytes;
  At to;
};

// The steps of pattern_matches(); those that take no byte are left to whoever walks.
std::vector<Step> steps_from(std::span<const PatternToken> tokens, At at) {
  using Kind = PatternToken::Kind;
  if (at.token == tokens.size()) {
    return {};
  }
  Bytes slash;
  slash.set('/');
  switch (tokens[at.token].kind) {
    case Kind::byte:
    case Kind::set:
      return {{.bytes = tokens[at.token].bytes, .to = {.token = at.token + 1}}};
    case Kind::star:
      return {{.bytes = ~slash, .to = at}};
    case Kind::deep_star:
      return {{.bytes = ~Bytes(), .to = at}};
    case Kind::folders:
      return {{.bytes = slash, .to = {.token = at.token}},
              {.bytes = ~slash, .to = {.token = at.token, .inside = true}}};
  }
  return {};
}

// Every kind of star may match nothing more, but a folder's name ends with its slash.
bool may_skip(std::span<const PatternToken> tokens, At at) {
  using Kind = PatternToken::Kind;
  return at.token < tokens.size() && tokens[at.token].kind != Kind::byte &&
         tokens[at.token].kind != Kind::set && !at.inside;
}

}  // namespace

Result<std::string> Glob::whole(std::string_view pattern, std::string_view folder) {
  if (pattern.starts_with("~/")) {
    return bad_input(fmt::format("glob {}: only a shell knows what ~ is", quote(pattern)),
                     "write the whole path, or ./~ for a folder of that name");
  }
  std::string text = pattern.starts_with('/') ? "" : literal(folder) + "/";
  text += pattern;
  std::string out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('/', at), text.size());
    const std::string part = text.substr(at, end - at);
    at = end + 1;
    if (part == "..") {
      out.erase(out.empty() ? 0 : out.rfind('/'));
    } else if (!part.empty() && part != ".") {
      out += "/" + part;
    }
  }
  return out.empty() ? "/" : out;
}

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

bool Glob::overlaps(const Glob& other) const {
  if (prefix_.size() > other.prefix_.size()) {
    return other.overlaps(*this);
  }
  if (!other.prefix_.starts_with(prefix_)) {
    return false;
  }
  // Both automata at once, from where the shorter prefix ends.
  std::vector<PatternToken> rest;
  for (const char c : std::string_view(other.prefix_).substr(prefix_.size())) {
    rest.push_back({.kind = PatternToken::Kind::byte, .bytes = {}});
    rest.back().bytes.set(byte(c));
  }
  rest.insert(rest.end(), other.tokens_.begin(), other.tokens_.end());
  using Pair = std::pair<At, At>;
  std::set<Pair> seen;
  std::vector<Pair> todo;
  const auto visit = [&](At ours, At theirs) {
    if (seen.emplace(ours, theirs).second) {
      todo.emplace_back(ours, theirs);
    }
  };
  visit({}, {});
  while (!todo.empty()) {
    const auto [ours, theirs] = todo.back();
    todo.pop_back();
    if (ours.token == tokens_.size() && theirs.token == rest.size()) {
      return true;
    }
    if (may_skip(tokens_, ours)) {
      visit({.token = ours.token + 1}, theirs);
    }
    if (may_skip(rest, theirs)) {
      visit(ours, {.token = theirs.token + 1});
    }
    for (const Step& one : steps_from(tokens_, ours)) {
      for (const Step& two : steps_from(rest, theirs)) {
        if ((one.bytes & two.bytes).any()) {
          visit(one.to, two.to);
        }
      }
    }
  }
  return false;
}

}  // namespace sluice

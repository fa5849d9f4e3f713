#include "base/toml.h"

#include <fmt/format.h>

#include "base/text.h"

namespace sluice {
namespace {

// The parser follows a.b.c.… by recursion and has no limit of its own: thousands of parts would overflow the
// stack. Anything that cannot be part of a key ends the count.
Status check_key_depth(std::string_view text, const std::string& path) {
  constexpr std::size_t most = 400;
  std::size_t dots = 0;
  std::size_t line = 1;
  for (const char c : text) {
    line += c == '\n' ? 1 : 0;
    const bool key = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     std::string_view("_-.\"' \t").find(c) != std::string_view::npos;
    dots = !key ? 0 : dots + (c == '.' ? 1 : 0);
    if (dots > most) {
      return bad_input(fmt::format("{}:{}:1: a key of more than {} parts", escape(path), line, most));
    }
  }
  return {};
}

}  // namespace

Result<toml::table> parse_toml(std::string_view text, const std::string& path) {
  SLUICE_CHECK(check_key_depth(text, path));
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    return bad_input(
        fmt::format("{}: {}", place_in(path, error.source()), escape(std::string(error.description()))));
  }
}

std::string place_in(const std::string& path, const toml::source_region& region) {
  return fmt::format("{}:{}:{}", escape(path), region.begin.line, region.begin.column);
}

Error unknown_key(const std::string& path, const toml::key& key, std::span<const std::string_view> known) {
  std::string advice = did_you_mean(key.str(), known);
  if (advice.empty()) {
    advice = fmt::format("known are: {}", fmt::join(known, ", "));
  }
  return bad_input(fmt::format("{}: unknown key {}", place_in(path, key.source()), quote(key.str())),
                   std::move(advice));
}

}  // namespace sluice

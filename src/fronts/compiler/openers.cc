#include "fronts/compiler/openers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/units.h"

namespace sluice {
namespace {

Opener by_flags(std::string name) {
  return {.name = std::move(name), .how = How::flags, .detail = 1};
}

Opener by_mode(std::string name) {
  return {.name = std::move(name), .how = How::mode, .detail = 1};
}

Opener by_folder(std::string name) {
  return {.name = std::move(name), .path = 1, .how = How::flags, .detail = 2, .folder = 0};
}

Opener by_creating(std::string name) {
  return {.name = std::move(name), .how = How::flags, .creates = true};
}

struct StreamClass {
  std::string_view mangled;
  unsigned always;
};
// std::ios::in is 8 and std::ios::out 16 in libstdc++.
constexpr std::array stream_classes = {StreamClass{"_ZNSt14basic_ofstream", 16},
                                       StreamClass{"_ZNSt14basic_ifstream", 8},
                                       StreamClass{"_ZNSt13basic_fstream", 0}};
constexpr std::array characters_of = {std::string_view("IcSt11char_traitsIcEE"),
                                      std::string_view("IwSt11char_traitsIwEE")};
// Constructors are followed by the types of their arguments, or for a template (filesystem::path) by I.
constexpr std::array functions_of = {std::string_view("C1"), std::string_view("C2"),
                                     std::string_view("4open")};
constexpr std::string_view char_path = "EPKcSt13_Ios_Openmode";

}  // namespace

std::span<const Opener> known_openers() {
  static const std::array openers = {
      by_flags("open"),     by_flags("open64"),     by_folder("openat"), by_folder("openat64"),
      by_creating("creat"), by_creating("creat64"), by_mode("fopen"),    by_mode("fopen64"),
      by_mode("freopen"),   by_mode("freopen64"),
  };
  return openers;
}

Result<Opener> parse_opener(std::string_view text) {
  const auto colon = text.rfind(':');
  const auto wrong = [&] {
    return bad_input(fmt::format("{} is not an opener", quote(text)),
                     "write name:argument, such as my_open:1 when the path is its first argument");
  };
  if (colon == std::string_view::npos || colon == 0 || text[colon - 1] == ':') {
    return wrong();
  }
  const std::string_view name = text.substr(0, colon);
  const bool fits = std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || c == ':' || c == '$' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
  });
  const auto number = parse_count(text.substr(colon + 1));
  if (!fits || !number || *number < 1 || *number > 100) {
    return wrong();
  }
  return Opener{.name = std::string(name), .path = static_cast<unsigned>(*number - 1), .own = true};
}

std::optional<FileStream> find_stream(std::string_view mangled) {
  for (const StreamClass& type : stream_classes) {
    if (!mangled.starts_with(type.mangled)) {
      continue;
    }
    const std::string_view behind = mangled.substr(type.mangled.size());
    for (const std::string_view character : characters_of) {
      if (!behind.starts_with(character)) {
        continue;
      }
      const std::string_view rest = behind.substr(character.size());
      for (const std::string_view function : functions_of) {
        if (rest.starts_with(function) && rest.find("St13_Ios_Openmode") != std::string_view::npos) {
          return FileStream{
              .always = type.always,
              .with_char_path = fmt::format("{}{}{}{}", type.mangled, character, function, char_path)};
        }
      }
    }
  }
  return std::nullopt;
}

bool names_opener(std::span<const std::string> words, std::span<const Opener> own) {
  static constexpr std::array<std::string_view, 3> streams = {"ofstream", "ifstream", "fstream"};
  const auto known = known_openers();
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    const auto same = [&](const Opener& opener) {
      return opener.name == word || opener.name.ends_with("::" + word);
    };
    return std::any_of(known.begin(), known.end(), same) || std::any_of(own.begin(), own.end(), same) ||
           std::find(streams.begin(), streams.end(), word) != streams.end();
  });
}

}  // namespace sluice

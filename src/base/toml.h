// TOML files. Apart from base/config.h, which the whole program includes: toml++ takes a second to compile.
#pragma once

#include <toml++/toml.h>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

// One file of a Config.
struct ConfigFile {
  std::string path;
  toml::table table;
  bool beside = false;  // it came with the current folder, and may have come from anybody
};

// Parses a TOML file; an error names file, line and column.
Result<toml::table> parse_toml(std::string_view text, const std::string& path);
// "file:line:column" of a node, for messages.
std::string place_in(const std::string& path, const toml::source_region& region);
// Error for a key that is not among those known: file, line, column, the key and the nearest.
Error unknown_key(const std::string& path, const toml::key& key, std::span<const std::string_view> known);

}  // namespace sluice

#include "base/config.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/files.h"
#include "base/reach.h"
#include "base/text.h"
#include "base/toml.h"
#include "base/units.h"

namespace sluice {
namespace {

// A scalar as text; nothing when the node is a table or a date.
std::optional<std::string> scalar(const toml::node& node) {
  if (const auto* text = node.as_string()) {
    return text->get();
  }
  if (const auto* number = node.as_integer()) {
    return fmt::format("{}", number->get());
  }
  if (const auto* number = node.as_floating_point()) {
    return print_number(number->get());
  }
  if (const auto* boolean = node.as_boolean()) {
    return boolean->get() ? "true" : "false";
  }
  return std::nullopt;
}

std::string config_home() {
  std::string xdg = environment("XDG_CONFIG_HOME");
  if (xdg.starts_with('/')) {
    return xdg;
  }
  const std::string home = environment("HOME");
  return home.starts_with('/') ? home + "/.config" : std::string{};
}

}  // namespace

Result<Config> Config::parse(std::string_view text, std::string path) {
  SLUICE_TRY(auto table, parse_toml(text, path));
  Config out;
  out.files_.push_back(
      std::make_shared<const ConfigFile>(ConfigFile{.path = std::move(path), .table = std::move(table)}));
  return out;
}

Result<Config> Config::load(const std::string& only) {
  std::vector<std::string> paths;
  if (!only.empty()) {
    paths.push_back(absolute(only, current_folder()));
  } else {
    paths.push_back(absolute("sluice.toml", current_folder()));
    if (const std::string home = config_home(); !home.empty()) {
      paths.push_back(home + "/sluice/sluice.toml");
    }
    paths.emplace_back("/etc/sluice/sluice.toml");
  }
  Config out;
  for (std::string& path : paths) {
    if (!answers(path, file_patience)) {
      Error error = fail(fmt::format("the file system of {} does not answer", quote(path)));
      if (!only.empty()) {
        return error;
      }
      out.warnings_.push_back(error.text() + "; going on without that configuration");
      continue;
    }
    auto text = read_file(path);
    if (!text && only.empty() && (text.error().number == ENOENT || text.error().number == ENOTDIR)) {
      continue;
    }
    if (!text) {
      return std::move(text).error().advise(
          "give another file with --config, or --config /dev/null for none");
    }
    SLUICE_TRY(auto table, parse_toml(*text, path));
    out.files_.push_back(
        std::make_shared<const ConfigFile>(ConfigFile{.path = std::move(path), .table = std::move(table)}));
  }
  return out;
}

Result<std::optional<Config::Setting>> Config::find(std::string_view key) const {
  for (const auto& file : files_) {
    const toml::node* node = file->table.get(key);
    if (node == nullptr) {
      continue;
    }
    Setting out{
        .values = {}, .origin = place_in(file->path, node->source()), .folder = folder_of(file->path)};
    const auto add = [&](const toml::node& value) -> Status {
      auto text = scalar(value);
      if (!text) {
        return bad_input(fmt::format("{}: key {} needs a plain value, not a {}",
                                     place_in(file->path, value.source()), quote(key),
                                     value.is_table() ? "table" : "date or list"));
      }
      out.values.push_back(std::move(*text));
      return {};
    };
    if (const auto* array = node->as_array()) {
      for (const toml::node& element : *array) {
        SLUICE_CHECK(add(element));
      }
    } else {
      SLUICE_CHECK(add(*node));
    }
    return std::optional(std::move(out));
  }
  return std::optional<Setting>{};
}

Status Config::check_keys(std::span<const std::string_view> known) const {
  for (const auto& file : files_) {
    for (const auto& [key, node] : file->table) {
      if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
        return unknown_key(file->path, key, known);
      }
    }
  }
  return {};
}

}  // namespace sluice

#include "base/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>

#include "base/files.h"
#include "base/reach.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/toml.h"
#include "base/trust.h"
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

// What chooses the code that is run, and the files that are changed.
constexpr std::array<std::string_view, 3> not_beside = {"rules", "catalog", "lab"};

bool counts(const ConfigFile& file, std::string_view key) {
  return !file.beside || std::find(not_beside.begin(), not_beside.end(), key) == not_beside.end();
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

Status Config::add(const std::string& path, bool beside) {
  SLUICE_TRY(const std::string text, read_trusted(path));
  SLUICE_TRY(auto table, parse_toml(text, path));
  ConfigFile file{.path = path, .table = std::move(table), .beside = beside};
  std::vector<std::string_view> ignored;
  std::copy_if(not_beside.begin(), not_beside.end(), std::back_inserter(ignored),
               [&](std::string_view key) { return file.table.contains(key) && !counts(file, key); });
  if (!ignored.empty()) {
    warnings_.push_back(fmt::format(
        "ignoring {} in {}: such keys count in the user's and the system's sluice.toml, or with --config",
        fmt::join(ignored, ", "), quote(path)));
  }
  files_.push_back(std::make_shared<const ConfigFile>(std::move(file)));
  return {};
}

Result<Config> Config::load(const std::string& only) {
  std::vector<std::string> paths;
  const std::string beside = absolute("sluice.toml", current_folder());
  bool has_beside = false;
  if (!only.empty()) {
    paths.push_back(absolute(only, current_folder()));
  } else {
    if (const std::string home = config_home(); !home.empty()) {
      paths.push_back(home + "/sluice/sluice.toml");
    }
    paths.emplace_back("/etc/sluice/sluice.toml");
    // In the user's own folder of configurations it is the user's.
    has_beside = !is_privileged_by_program() && std::find(paths.begin(), paths.end(), beside) == paths.end();
    if (has_beside) {
      paths.insert(paths.begin(), beside);
    }
  }
  Config out;
  for (const std::string& path : paths) {
    if (!answers(path, file_patience)) {
      Error error = fail(fmt::format("the file system of {} does not answer", quote(path)));
      if (!only.empty()) {
        return error;
      }
      out.warnings_.push_back(error.text() + "; going on without that configuration");
      continue;
    }
    struct stat about {};
    if (only.empty() && sys().stat(path.c_str(), &about) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
      continue;
    }
    Status added = out.add(path, has_beside && path == beside);
    if (added) {
      continue;
    }
    if (only.empty() && added.error().number == EPERM) {
      out.warnings_.push_back(fmt::format("ignoring {}: {}", quote(path), added.error().what));
      continue;
    }
    if (added.error().usage) {
      return std::move(added).error();
    }
    return std::move(added).error().advise("give another file with --config, or --config /dev/null for none");
  }
  return out;
}

Result<std::optional<Config::Setting>> Config::find(std::string_view key) const {
  for (const auto& file : files_) {
    const toml::node* node = file->table.get(key);
    if (node == nullptr || !counts(*file, key)) {
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

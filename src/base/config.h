// sluice.toml: the one beside the work (current folder), then the user's, then the system's. A key in an
// earlier file hides the same key in a later one. A file counts only where nobody but this user and root can
// say what it holds (base/trust.h), and the one beside the work says nothing of `rules`, `catalog` and `lab`:
// these choose what is run and what is changed.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

struct ConfigFile;  // base/toml.h

class Config {
 public:
  // Reads the files that exist; `only` names a single file that must exist instead. A file whose file system
  // does not answer, or that does not count, is left out and said in warnings(). Under a set-uid program the
  // current folder and the environment do not count.
  static Result<Config> load(const std::string& only = {});
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  // One file from memory; `path` is used in messages.
  static Result<Config> parse(std::string_view text, std::string path);

  // Nearest first.
  [[nodiscard]] const std::vector<std::shared_ptr<const ConfigFile>>& files() const { return files_; }

  // A top-level value of the nearest file that has the key, as it would be typed on the command line (a
  // boolean as true or false, an array as several values).
  struct Setting {
    std::vector<std::string> values;
    std::string origin;  // file:line:column
    std::string folder;  // of the file: relative paths in it are relative to this
  };
  [[nodiscard]] Result<std::optional<Setting>> find(std::string_view key) const;

  // Every top-level key must be one of these.
  [[nodiscard]] Status check_keys(std::span<const std::string_view> known) const;

 private:
  Status add(const std::string& path, bool beside);

  std::vector<std::shared_ptr<const ConfigFile>> files_;
  std::vector<std::string> warnings_;
};

}  // namespace sluice

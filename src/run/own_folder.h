// A folder of this user's own on a place, for files that are there for a while.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

// A name that no other run has.
std::string own_folder_name();
// Removes it where it has such a name and is empty.
void remove_own_folder(const std::string& path);

class OwnFolder {
 public:
  // New, with mode 0700, so nobody can have put a link there; refused in a folder where others may put one
  // in its place later.
  static Result<OwnFolder> make(const std::string& path);
  OwnFolder(OwnFolder&& other) noexcept;
  OwnFolder& operator=(OwnFolder&&) = delete;
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  ~OwnFolder();  // removes it, when it is empty

  [[nodiscard]] const std::string& path() const { return path_; }
  // It stays.
  void keep() { path_.clear(); }

 private:
  explicit OwnFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace sluice

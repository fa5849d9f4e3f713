// Where a verb that leaves standard output to a program puts its JSON: --json=FILE, or --json=fd:N.
#pragma once

#include <string>

#include "base/json_fwd.h"
#include "base/result.h"
#include "base/sys.h"

namespace sluice {

class JsonFile {
 public:
  // Before the program runs: that it cannot be written is said before anything is done. "" = none is wanted.
  static Result<JsonFile> open(const std::string& where);

  explicit operator bool() const { return static_cast<bool>(fd_); }
  [[nodiscard]] Status write(const Json& json) const;

 private:
  explicit JsonFile(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace sluice

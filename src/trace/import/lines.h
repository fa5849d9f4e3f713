// A text file or pipe, line by line, in bounded memory.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/sys.h"

namespace sluice {

class LineReader {
 public:
  // What is longer is given as so much of it; strace prints data where it is asked to.
  static constexpr std::size_t longest = std::size_t{4} << 20U;

  LineReader(UniqueFd fd, std::string path) : path_(std::move(path)), fd_(std::move(fd)) {}

  // The next one without its end, valid until the next call; nothing at the end.
  Result<std::optional<std::string_view>> next();

 private:
  Status fill();

  std::string path_;
  UniqueFd fd_;
  std::string buffer_;
  std::size_t at_ = 0;  // what is before it was given
  bool ended_ = false;
};

}  // namespace sluice

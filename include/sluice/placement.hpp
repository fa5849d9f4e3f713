// C++17 over the C interface: what files are for, and where they are opened. Header only.
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

#include "sluice/intent.hpp"

namespace sluice {

namespace detail {

// Words that are wrong are an IntentError, everything else a system_error.
[[noreturn]] inline void raise(const sluice_failure& why) {
  if (why.column > 0) {
    throw IntentError(why);
  }
  throw std::system_error(why.number, std::generic_category(), why.message);
}

inline sluice_failure nothing_failed() {
  sluice_failure why{};
  why.size = sizeof why;
  return why;
}

}  // namespace detail

// Of the file at a path or, where that ends in '/', of all below.
inline void declare(const std::string& path, const std::string& words) {
  sluice_failure why = detail::nothing_failed();
  if (sluice_declare(path.c_str(), words.c_str(), &why) != 0) {
    detail::raise(why);
  }
}

inline void declare(int fd, const std::string& words) {
  sluice_failure why = detail::nothing_failed();
  if (sluice_declare_fd(fd, words.c_str(), &why) != 0) {
    detail::raise(why);
  }
}

// The plan for a path, as JSON.
inline std::string plan(const std::string& path, const std::string& words = "") {
  sluice_failure why = detail::nothing_failed();
  const std::unique_ptr<char, void (*)(void*)> text(sluice_plan(path.c_str(), words.c_str(), &why),
                                                    sluice_free);
  if (text == nullptr) {
    detail::raise(why);
  }
  return text.get();
}

// A descriptor, which the caller closes.
inline int open(const std::string& path, int flags, mode_t mode = 0666, const std::string& words = "") {
  sluice_failure why = detail::nothing_failed();
  const int fd = sluice_open(path.c_str(), flags, mode, words.c_str(), &why);
  if (fd < 0) {
    detail::raise(why);
  }
  return fd;
}

// The path to open in place of this one, for a file that may be created.
inline std::string path_to_open(const std::string& path, const std::string& words = "") {
  return sluice_path(path.c_str(), words.c_str(), 0, 0);
}

}  // namespace sluice

#include "pipeline/line.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/utf8.h"

namespace sluice {

bool Line::put(std::string_view text) {
  const bool fits = text.size() < bytes_.size() - size_;  // with room for the line break
  if (fits) {
    std::memcpy(bytes_.data() + size_, text.data(), text.size());
    size_ += text.size();
  }
  return fits;
}

Line& Line::add(std::string_view text) {
  put(text.substr(0, bytes_.size() - 1 - size_));
  return *this;
}

Line& Line::escape(std::string_view text) {
  bool fits = true;
  for (std::size_t length = 0; fits && !text.empty(); text.remove_prefix(length)) {
    const std::uint32_t character = decode(text, length);
    if (character == '\\' || character == '\n' || character == '\t') {
      fits = put(character == '\\' ? "\\\\" : character == '\n' ? "\\n" : "\\t");
      continue;
    }
    const bool plain = character != not_utf8 && character >= 0x20 &&
                       (character < 0x7F || character >= 0xA0) && !is_deceptive(character);
    for (std::size_t i = 0; !plain && fits && i < length; ++i) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(text[i]));
      fits = put(escaped);
    }
    fits = fits && (!plain || put(text.substr(0, length)));
  }
  return *this;
}

namespace {

// Device and number of a regular file; zeros for anything else.
struct Identity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const Identity&) const = default;
};
constinit Identity first;

Identity standard_error() {
  struct stat found {};
  const bool regular = syscall(SYS_fstat, STDERR_FILENO, &found) == 0 && S_ISREG(found.st_mode);
  return regular ? Identity{.device = found.st_dev, .inode = found.st_ino} : Identity{};
}

}  // namespace

void note_standard_error() {
  first = standard_error();
}

void Line::say() {
  const int saved = errno;
  const Identity now = standard_error();
  errno = saved;
  if (now != Identity{} && now != first) {
    return;
  }
  bytes_[size_] = '\n';
  [[maybe_unused]] const long told = syscall(SYS_write, STDERR_FILENO, bytes_.data(), size_ + 1);
}

}  // namespace sluice

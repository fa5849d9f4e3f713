#include "trace/import/strace_names.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "trace/import/strace_line.h"

namespace sluice {
namespace {

using Name = std::pair<std::string_view, int>;

constexpr std::array open_flags = {
    Name{"O_RDONLY", O_RDONLY},     Name{"O_WRONLY", O_WRONLY},       Name{"O_RDWR", O_RDWR},
    Name{"O_CREAT", O_CREAT},       Name{"O_EXCL", O_EXCL},           Name{"O_NOCTTY", O_NOCTTY},
    Name{"O_TRUNC", O_TRUNC},       Name{"O_APPEND", O_APPEND},       Name{"O_NONBLOCK", O_NONBLOCK},
    Name{"O_DSYNC", O_DSYNC},       Name{"O_SYNC", O_SYNC},           Name{"O_ASYNC", O_ASYNC},
    Name{"O_DIRECT", O_DIRECT},     Name{"O_LARGEFILE", O_LARGEFILE}, Name{"O_DIRECTORY", O_DIRECTORY},
    Name{"O_NOFOLLOW", O_NOFOLLOW}, Name{"O_NOATIME", O_NOATIME},     Name{"O_CLOEXEC", O_CLOEXEC},
    Name{"O_PATH", O_PATH},         Name{"O_TMPFILE", O_TMPFILE},     Name{"O_ACCMODE", O_ACCMODE}};
constexpr std::array allocate_modes = {Name{"FALLOC_FL_KEEP_SIZE", FALLOC_FL_KEEP_SIZE},
                                       Name{"FALLOC_FL_PUNCH_HOLE", FALLOC_FL_PUNCH_HOLE},
                                       Name{"FALLOC_FL_NO_HIDE_STALE", FALLOC_FL_NO_HIDE_STALE},
                                       Name{"FALLOC_FL_COLLAPSE_RANGE", FALLOC_FL_COLLAPSE_RANGE},
                                       Name{"FALLOC_FL_ZERO_RANGE", FALLOC_FL_ZERO_RANGE},
                                       Name{"FALLOC_FL_INSERT_RANGE", FALLOC_FL_INSERT_RANGE},
                                       Name{"FALLOC_FL_UNSHARE_RANGE", FALLOC_FL_UNSHARE_RANGE}};
constexpr std::array advices = {
    Name{"POSIX_FADV_NORMAL", POSIX_FADV_NORMAL},         Name{"POSIX_FADV_RANDOM", POSIX_FADV_RANDOM},
    Name{"POSIX_FADV_SEQUENTIAL", POSIX_FADV_SEQUENTIAL}, Name{"POSIX_FADV_WILLNEED", POSIX_FADV_WILLNEED},
    Name{"POSIX_FADV_DONTNEED", POSIX_FADV_DONTNEED},     Name{"POSIX_FADV_NOREUSE", POSIX_FADV_NOREUSE}};
constexpr std::array name_flags = {
    Name{"AT_REMOVEDIR", AT_REMOVEDIR},   Name{"AT_SYMLINK_FOLLOW", AT_SYMLINK_FOLLOW},
    Name{"AT_EMPTY_PATH", AT_EMPTY_PATH}, Name{"RENAME_NOREPLACE", 1},
    Name{"RENAME_EXCHANGE", 2},           Name{"RENAME_WHITEOUT", 4}};
constexpr std::array whences = {Name{"SEEK_SET", SEEK_SET}, Name{"SEEK_CUR", SEEK_CUR},
                                Name{"SEEK_END", SEEK_END}, Name{"SEEK_DATA", SEEK_DATA},
                                Name{"SEEK_HOLE", SEEK_HOLE}};

template <class Table>
std::optional<int> find(const Table& table, std::string_view word) {
  for (const auto& [name, value] : table) {
    if (name == word) {
      return value;
    }
  }
  return std::nullopt;
}

template <class Table>
int or_together(const Table& table, std::string_view words) {
  int out = 0;
  for (const std::string_view word : split(words, '|')) {
    out |= find(table, word).value_or(static_cast<int>(parse_strace_number(word).value_or(0)));
  }
  return out;
}

}  // namespace

int errno_of(std::string_view wanted) {
  static const std::unordered_map<std::string, int> all = [] {
    std::unordered_map<std::string, int> out;
    for (int number = 1; number < 200; ++number) {
      if (const char* name = strerrorname_np(number); name != nullptr) {
        out.emplace(name, number);
      }
    }
    return out;
  }();
  const auto found = all.find(std::string(wanted));
  return found == all.end() ? EIO : found->second;
}

int open_flags_of(std::string_view words) {
  return or_together(open_flags, words);
}

int allocate_mode_of(std::string_view words) {
  return or_together(allocate_modes, words);
}

int name_flags_of(std::string_view words) {
  return or_together(name_flags, words);
}

int advice_of(std::string_view word) {
  return find(advices, word).value_or(-1);
}

int whence_of(std::string_view word) {
  return find(whences, word).value_or(-1);
}

std::string unescape_strace(std::string_view text) {
  constexpr std::string_view letters = "ntvfr";
  constexpr std::string_view meanings = "\n\t\v\f\r";
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      out += text[at];
      continue;
    }
    const char letter = text[++at];
    const bool hexadecimal = letter == 'x';
    if (hexadecimal || (letter >= '0' && letter <= '7')) {
      const std::string_view digits = hexadecimal ? "0123456789abcdef" : "01234567";
      const std::size_t begin = hexadecimal ? at + 1 : at;
      const std::size_t most = hexadecimal ? 2 : 3;
      std::size_t value = 0;
      std::size_t end = begin;
      while (end < text.size() && end - begin < most && digits.find(text[end]) != std::string_view::npos) {
        value = value * digits.size() + digits.find(text[end]);
        ++end;
      }
      out += static_cast<char>(value);
      at = end - 1;
    } else {
      const std::size_t found = letters.find(letter);
      out += found == std::string_view::npos ? letter : meanings[found];
    }
  }
  return out;
}

}  // namespace sluice

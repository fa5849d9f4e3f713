// The mount table of a process, as /proc/self/mountinfo prints it. Pure: text in, mounts out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct Mount {
  std::uint64_t id = 0;
  std::uint64_t parent = 0;
  unsigned major = 0;
  unsigned minor = 0;
  std::string root;           // which folder of the file system is mounted
  std::string point;          // where
  std::string options;        // of the mount
  std::string type;           // of the file system
  std::string source;         // what is mounted
  std::string super_options;  // of the file system

  bool operator==(const Mount&) const = default;

  [[nodiscard]] bool read_only() const;
  // The value of "key=value" among the options of the file system; "" when there is none.
  [[nodiscard]] std::string_view option(std::string_view key) const;
};

struct MountInfo {
  std::vector<Mount> mounts;        // in the order of the file
  std::vector<std::string> unread;  // one sentence a malformed line; such lines are left out
};

MountInfo parse_mountinfo(std::string_view text);

// Undoes the octal escapes that the kernel uses for blanks and backslashes: "a\040b" -> "a b".
std::string undo_octal(std::string_view text);

}  // namespace sluice

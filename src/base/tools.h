// The programs of the system that Sluice starts, and the package of Debian that each is in.
//
// The only list of them: a name that is not in it does not compile where a program is started (ToolName),
// error messages name the package from it, and tests/checks/packages holds scripts/packages to it.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sluice {

struct ToolPackage {
  std::string_view tool;
  std::string_view package;  // "" = Debian has none
};

inline constexpr auto tool_packages = std::to_array<ToolPackage>({
    {"addr2line", "binutils"},
    {"beegfs-ctl", ""},
    {"blkid", "util-linux"},
    {"btrfs", "btrfs-progs"},
    {"ceph", "ceph-common"},
    {"env", "coreutils"},
    {"fusermount3", "fuse3"},
    {"gluster", "glusterfs-cli"},
    {"ip", "iproute2"},
    {"lfs", ""},
    {"lvs", "lvm2"},
    {"mkfs.btrfs", "btrfs-progs"},
    {"mkfs.ext4", "e2fsprogs"},
    {"mmlsfs", ""},
    {"sh", "dash"},
    {"tc", "iproute2"},
    {"umount", "mount"},
    {"zpool", "zfsutils-linux"},
});

// The name of a program in the table; any other is an error of the compiler.
class ToolName {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a literal is meant to become one
  consteval ToolName(const char* name) : name_(name) {
    if (std::none_of(tool_packages.begin(), tool_packages.end(),
                     [&](const ToolPackage& row) { return row.tool == name_; })) {
      throw "the table in base/tools.h does not say which package this program is in";
    }
  }

  [[nodiscard]] std::string_view text() const { return name_; }

 private:
  std::string_view name_;
};

// A program and its arguments.
class Command {
 public:
  Command(ToolName tool, std::vector<std::string> arguments)
      : program_(tool.text()), arguments_(std::move(arguments)) {}

  // A program that is not the system's: our own, or the user's. REQUIRES: `path` is absolute.
  static Command at(std::string path, std::vector<std::string> arguments) {
    Command out;
    out.program_ = std::move(path);
    out.arguments_ = std::move(arguments);
    return out;
  }

  // A name that stands in the table, or an absolute path.
  [[nodiscard]] const std::string& program() const { return program_; }
  // All of it, the program first.
  [[nodiscard]] std::vector<std::string> words() const;

  auto operator<=>(const Command&) const = default;

 private:
  Command() = default;

  std::string program_;
  std::vector<std::string> arguments_;
};

// "install the package mount"; "" where the table knows of no package.
std::string install_advice(std::string_view tool);

// "umount is not installed", and what to do.
Error not_installed(std::string_view tool);

}  // namespace sluice

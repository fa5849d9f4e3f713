// Names and identities of places.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/mountinfo.h"

namespace sluice {

// "/" -> "root", "/mnt/nvme 1" -> "mnt-nvme-1"; only letters, digits, '.', '_' and '-', at most 48 of them.
std::string name_of(std::string_view mount_point);
bool is_place_name(std::string_view name);

// Hands out every name once: the second "mnt" becomes "mnt-2".
class UniqueNames {
 public:
  std::string take(const std::string& wanted);

 private:
  std::set<std::string> taken_;
  std::unordered_map<std::string, unsigned> next_;
};

// Stays the same across reboots: the UUID, the server and export, or type and mount point. A part of a file
// system (a bind mount, a btrfs subvolume) adds which part.
std::string identity_of(const Mount& mount, std::string_view uuid, bool network);

}  // namespace sluice

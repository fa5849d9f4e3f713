// How files stood when they were last synced, to be put back at the end: the stage `drop-unsynced`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/sys.h"

namespace sluice {

class Snapshots {
 public:
  // The file that a descriptor is, as it stands: one that is not known yet, or only one that is (`again`).
  Status take(const UniqueFd& fd, bool again);
  // All that are known, again; where there is a descriptor, those on its file system.
  Status take_all(const UniqueFd& of);
  // All files are as they were. What could not be put back.
  std::vector<std::string> put_back();

 private:
  struct Snapshot {
    UniqueFd file;  // its name alone: one that is open for writing cannot be run
    UniqueFd copy;
  };
  static bool is_as_it_stood(const Snapshot& snapshot);
  // Why there is no copy; the same is said once.
  Status lacks(int number, const std::string& path);

  std::map<std::pair<std::uint64_t, std::uint64_t>, Snapshot> all_;  // by device and inode
  std::map<int, std::size_t> lacking_;                               // by errno
};

}  // namespace sluice

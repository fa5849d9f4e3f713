// A file, or a folder with everything in it: looked at, copied and removed by descriptors, without following
// any link.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/sys.h"
#include "move/home.h"
#include "move/lease.h"

namespace sluice {

struct TreeEntry {
  std::string path;  // below the one that was looked at; "" = itself
  struct stat about {};
};

struct Tree {
  std::vector<TreeEntry> entries;  // a folder before what is in it, names sorted
  std::uint64_t size = 0;          // of all files, as they say
  std::uint64_t room = 0;          // bytes that a copy needs, without holes
};

// Refuses what cannot be copied: devices, sockets, other file systems, and with `whole` files that have
// further names outside. `path` is for messages.
Result<Tree> look_at_tree(int folder, const std::string& name, const std::string& path, bool whole);

// Whether it is the same and nothing in it was changed. The time at which the uppermost got another name does
// not count.
bool is_unchanged(const Tree& before, const Tree& now);

// Removes it. A folder that may not be written is made writable first.
Status remove_tree(int folder, const std::string& name);

// A copy with all that is said of files and folders (holes, mode, owner, times, attributes, names that are
// links to each other), synced, and read again to compare. While the object lives, whoever opens one of the
// files for writing is noticed. REQUIRES: LeaseSignals in this thread.
class TreeCopy {
 public:
  explicit TreeCopy(GoOn go_on) : go_on_(std::move(go_on)) {}

  // EBUSY: somebody has it open, and who; ECANCELED: somebody came for writing, or go_on said so. What was
  // copied so far is there in either case.
  Status run(const Tree& tree, int from, const std::string& from_name, int to, const std::string& to_name);
  // Whether nobody has come for writing since; what is beyond the number of files that can be open at once is
  // told by is_unchanged().
  [[nodiscard]] bool undisturbed() const;
  // Of a single file; "" of a folder.
  [[nodiscard]] const std::string& checksum() const { return checksum_; }

 private:
  struct Held {
    UniqueFd file;
    Lease lease;
  };

  Status copy_file(const TreeEntry& entry, int from, int to, const std::string& from_name,
                   const std::string& to_name);

  GoOn go_on_;
  std::list<Held> held_;
  std::map<Identity, std::string> names_;  // of files that have several: the first, below the copy
  std::string checksum_;
  std::string root_from_;
  std::string root_to_;
};

}  // namespace sluice

// A file, or a folder with everything in it: looked at, copied and removed by descriptors, without following
// any link.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/sys.h"
#include "move/home.h"
#include "move/lease.h"

namespace sluice {

struct TreeEntry {
  std::string path;  // below the one that was looked at; "" = itself
  struct stat about {};
  bool fixed = false;  // marked so that nobody can remove it
};

// Names and values; access lists are attributes, too.
using Attributes = std::vector<std::pair<std::string, std::string>>;

struct Tree {
  std::string path;                // for messages
  std::vector<TreeEntry> entries;  // a folder before what is in it, names sorted
  std::uint64_t size = 0;          // of all files, as they say
  std::uint64_t room = 0;          // bytes that a copy needs, without holes
  Attributes attributes;           // of the uppermost
};

// Refuses what cannot be copied: devices, sockets, other file systems, and with `whole` files that have
// further names outside. `path` is for messages.
Result<Tree> look_at_tree(int folder, const std::string& name, const std::string& path, bool whole);

// Whether it is the same and nothing in it was changed. The time at which the uppermost got another name does
// not count; what else changes that time is compared by itself.
bool is_unchanged(const Tree& before, const Tree& now);

// Whether a tree that was looked at before is unchanged, and no process that this user may look at uses any
// of it.
bool is_left_alone(const Tree& before, int folder, const std::string& name);

// Removes it. A folder that may not be written is made writable first.
Status remove_tree(int folder, const std::string& name);

// A copy with all that is said of files and folders (holes, mode, owner, times, attributes, names that are
// links to each other), synced, and read again to compare. While the object lives, whoever opens one of the
// files for writing is noticed. REQUIRES: LeaseSignals in this thread.
class TreeCopy {
 public:
  explicit TreeCopy(GoOn go_on) : go_on_(std::move(go_on)) {}
  TreeCopy(const TreeCopy&) = delete;
  TreeCopy& operator=(const TreeCopy&) = delete;
  ~TreeCopy() { let_go(); }

  // EBUSY: somebody has it open, and who; ECANCELED: somebody came for writing, or go_on said so. What was
  // copied so far is there in either case. Files are noted in `tree` as they were when they were opened.
  Status run(Tree& tree, int from, const std::string& from_name, int to, const std::string& to_name);
  // Whether nobody has come for writing since; what is beyond the number of files that can be open at once is
  // told by is_unchanged().
  [[nodiscard]] bool undisturbed() const;
  // The same, for all that can be told of a source that has another name by now, by which nobody finds it:
  // it is unchanged, and no process that this user may look at is in one of its folders.
  [[nodiscard]] bool is_left(const Tree& tree, int folder, const std::string& name) const;
  // Removes a source that is_left(), by whatever name, but for what is another than was copied or is written
  // to after all: who is in it may be one whom this user cannot look at. False where something of it stays.
  Result<bool> remove_source(const Tree& tree, int folder, const std::string& name);
  // Of a single file; "" of a folder.
  [[nodiscard]] const std::string& checksum() const { return checksum_; }

 private:
  struct Held {
    UniqueFd file;
    Lease lease;
  };

  Status copy_file(TreeEntry& entry, int from, int to, const std::string& from_name,
                   const std::string& to_name);
  void let_go();

  GoOn go_on_;
  std::map<Identity, Held> held_;
  std::string checksum_;
  std::string root_from_;
  std::string root_to_;
};

}  // namespace sluice

// Where things are, by descriptors of folders that were opened without following any link: whoever renames
// or replaces something above them later changes nothing for us.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/sys.h"
#include "places/place.h"

namespace sluice {

// A name in an open folder.
struct Spot {
  std::string path;  // absolute, without links above the name
  UniqueFd folder;
  std::string name;

  // What is there, itself and not what it links to; nothing where there is none.
  [[nodiscard]] Result<std::optional<struct stat>> look() const;
  [[nodiscard]] Result<std::optional<struct stat>> look(const std::string& other) const;
  // Whether it, or another name in the folder, is a link to exactly that.
  [[nodiscard]] bool links_to(const std::string& target) const;
  [[nodiscard]] bool links_to(const std::string& other, const std::string& target) const;
  Status sync_folder() const;
};

// Opens an absolute path without links. Nobody but root and this user can replace what is in it; with
// `of_ours` it must belong to this user. No folder above it is open to others without the sticky bit. One
// that belongs to another user may be above it: he can move it away as a whole, but has no hand in it.
Result<UniqueFd> open_folder(const std::string& path, bool of_ours);

// The spot of a path that a user typed. Its folder is to be one in which nobody else can replace what we
// make.
Result<Spot> open_spot(const std::string& typed);
// The spot of data on a place, by the target of a row.
Result<Spot> open_target(const std::string& target);

// A new spot on the place for data that is called `name`: a folder of its own inside of this user's folder
// there, so that the name can stay as it is. The folder is made by make_box().
struct Box {
  UniqueFd own;      // this user's folder on the place
  std::string path;  // of it
  std::string name;  // of the box in it
  [[nodiscard]] std::string target(const std::string& data) const { return path + "/" + name + "/" + data; }
};
Result<Box> choose_box(const Place& place, const std::string& path);
// Mode 0700; with `wide`, others may pass through to what they have the name of. Links beside the data
// say which path it belongs to, for whoever has no catalog, and which folder that is in.
Result<UniqueFd> make_box(const Box& box, const std::string& path, bool wide);
// The same for another path.
void mark_box(const std::string& target, const std::string& path);
// Removes the box of a target, when nothing but our marks is in it, so that no power cut brings it back; and
// this user's folder with the last of them.
void remove_box(const std::string& target);
inline constexpr std::string_view box_mark = ".sluice-path";
// The second mark is a link to nothing, whose text says which folder of which machine the path was in.
inline constexpr std::string_view folder_mark = ".sluice-folder";
bool is_mark(std::string_view name);

// Why a folder is not the one that the path of a target was in, by that mark: what is missing in it may be
// there all the same, where another file system, machine or namespace has it. "" = it is that one, also after
// a reboot that gave its device another number; nothing where there is no mark.
std::optional<std::string> doubt_of(const std::string& target, const Spot& spot);

// Where the link of a placement is.
struct Trace {
  std::string seen;  // there, removed, replaced, or "renamed to X" in the same folder; "" = it cannot be seen
  std::string doubt;   // why that it is gone is not sure, "" = it is
  std::string advice;  // about that, "" = nothing in particular
  [[nodiscard]] bool found() const { return seen == "there" || seen.starts_with("renamed"); }
  [[nodiscard]] bool gone() const { return !found() && doubt.empty(); }
};
// `aside` is a name that no user gave it, "" = none.
Trace trace_link(const std::string& path, const std::string& target, const std::string& aside);

// "sluice-placed-1000"
std::string own_name();
// Whether a path is inside of such a folder, anybody's.
bool is_in_own_folder(const std::string& path);

}  // namespace sluice

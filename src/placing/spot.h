// Where things are, by descriptors of folders that were opened without following any link: whoever renames
// or replaces something above them later changes nothing for us.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

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

// Opens an absolute path without links, of which another user has none of the folders in his hands; with
// `of_ours` it must belong to this user. Below a folder where others may write, only with the sticky bit.
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
// Mode 0700; with `wide`, others may pass through to what they have the name of. A link beside the data says
// which path it belongs to, for whoever has no catalog.
Result<UniqueFd> make_box(const Box& box, const std::string& path, bool wide);
// Removes the box of a target, when nothing but that link is in it, so that no power cut brings it back.
void remove_box(const std::string& target);
inline constexpr std::string_view box_mark = ".sluice-path";

// "sluice-placed-1000"
std::string own_name();
// Whether a path is inside of such a folder, anybody's.
bool is_in_own_folder(const std::string& path);

}  // namespace sluice

// What the rows of placements say: PlacementRow::kind and PlacementRow::state.
#pragma once

#include <string_view>

namespace sluice::placement {

// Of the data, when it was placed.
inline constexpr std::string_view fresh = "new";                // a program will create it
inline constexpr std::string_view fresh_folder = "new-folder";  // we made it, for a program to fill
inline constexpr std::string_view file = "file";
inline constexpr std::string_view folder = "folder";

constexpr bool is_new(std::string_view kind) {
  return kind == fresh || kind == fresh_folder;
}
constexpr bool is_folder(std::string_view kind) {
  return kind == folder || kind == fresh_folder;
}

// Which step is under way. The row is written before the step is done.
inline constexpr std::string_view placing = "placing";    // a link to data that is not there yet is made
inline constexpr std::string_view adopting = "adopting";  // data is copied to the target
inline constexpr std::string_view linking =
    "linking";                                        // the copy is safe; a link takes the path from the data
inline constexpr std::string_view placed = "placed";  // none: the link is at the path, the data at the target
inline constexpr std::string_view returning = "returning";  // data is copied beside the link
inline constexpr std::string_view landing = "landing";    // the copy is safe; it takes the path from the link
inline constexpr std::string_view removing = "removing";  // the data is at the path, the target goes

}  // namespace sluice::placement

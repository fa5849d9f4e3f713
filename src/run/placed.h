// Files that were placed before a run began, as its program sees them: as files, not as links. What a link
// cannot do (docs/placing.md) they can: removing one removes its data, another file can be renamed over it,
// and who opens it without following links, or wants to create it, meets the file itself.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pipeline/area.h"

namespace sluice {

struct PlacedFile {
  std::string path;  // a link to the data; absolute, the folders above it without links
  std::string data;
};

class PlacedFiles {
 public:
  // Notes them in the area. One whose path or data's path is too long, or for which there is no room, stays a
  // link.
  // REQUIRES: before the program starts.
  PlacedFiles(Area& area, const std::vector<PlacedFile>& files);

  // How many stay links.
  [[nodiscard]] std::size_t links() const { return links_; }

  struct Change {
    std::string before;
    std::string now;  // "" = the file was removed or replaced, and its data is gone
  };
  // What the program did with their names. REQUIRES: it has ended.
  [[nodiscard]] std::vector<Change> changes() const;

 private:
  struct Noted {
    std::string path;
    AreaMove* row;
  };
  Area& area_;
  std::vector<Noted> noted_;
  std::size_t links_ = 0;
};

}  // namespace sluice

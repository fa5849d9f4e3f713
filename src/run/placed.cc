#include "run/placed.h"

namespace sluice {
namespace {

constexpr int patience = 1000;  // milliseconds, for somebody who changes a name

}  // namespace

PlacedFiles::PlacedFiles(Area& area, const std::vector<PlacedFile>& files) : area_(area) {
  for (const PlacedFile& file : files) {
    AreaMove* row = new_move(area, file.path, file.data, AreaMove::placed);
    if (row == nullptr) {
      ++links_;
      continue;
    }
    row->state = AreaMove::there;
    area.moves_made.fetch_add(1);
    noted_.push_back({.path = file.path, .row = row});
  }
}

std::vector<PlacedFiles::Change> PlacedFiles::changes() const {
  std::vector<Change> out;
  if (noted_.empty()) {
    return out;
  }
  const Naming all(area_, patience);  // what somebody began who was killed
  for (const Noted& one : noted_) {
    const std::string now = is_elsewhere(*one.row) ? one.row->path.data() : "";
    if (now != one.path) {
      out.push_back({.before = one.path, .now = now});
    }
  }
  return out;
}

}  // namespace sluice

#include "placing/follow.h"

#include <algorithm>

#include "placing/mend.h"
#include "placing/spot.h"
#include "placing/words.h"

namespace sluice {

Result<std::vector<PlacementRow>> placed_files(Catalog& catalog) {
  SLUICE_TRY(std::vector<PlacementRow> out, catalog.placements());
  std::erase_if(out, [](const PlacementRow& row) {
    return row.state != placement::placed || placement::is_folder(row.kind);
  });
  return out;
}

Status follow_removal(Catalog& catalog, const std::string& path) {
  SLUICE_TRY(const UniqueFd lock, catalog.lock_placement(path));
  SLUICE_TRY(const auto row, catalog.find_placement(path));
  if (!row) {
    return {};
  }
  const auto target = open_target(row->target);
  const auto there = target ? target->look() : Result<std::optional<struct stat>>(target.error());
  const bool gone = there ? !*there : there.error().number == ENOENT;
  return gone ? forget_unlinked(catalog, *row) : Status();
}

Status follow_rename(Catalog& catalog, const std::string& from, const std::string& to) {
  SLUICE_TRY(const UniqueFd lock, catalog.lock_placement(from));
  SLUICE_TRY(const auto row, catalog.find_placement(from));
  SLUICE_TRY(const Spot spot, open_spot(to));
  if (!row || row->state != placement::placed || !spot.links_to(row->target)) {
    return {};
  }
  SLUICE_CHECK(check_row(*row));
  SLUICE_CHECK(catalog.rename_placement(from, spot.path));
  mark_box(row->target, spot.path);
  return {};
}

}  // namespace sluice

#include "placing/mend.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/reach.h"
#include "base/step.h"
#include "base/text.h"
#include "placing/spot.h"
#include "placing/transfer.h"
#include "placing/words.h"

namespace sluice {
namespace {

Status forget(Catalog& catalog, const PlacementRow& row) {
  SLUICE_CHECK(catalog.remove_placement(row.path));
  step("mend: row removed");
  return {};
}

Status settle(Catalog& catalog, PlacementRow row, std::optional<std::uint64_t> promised = {}) {
  row.state = placement::placed;
  row.aside.clear();
  row.facts = "{}";
  SLUICE_CHECK(catalog.put_placement(row, promised));
  step("mend: row settled");
  return {};
}

// The path and, where it can be reached, the target.
struct Scene {
  Spot spot;  // without a folder where somebody removed that
  std::optional<Spot> target;
};

// A folder that is gone has nothing in it; one that cannot be looked at is another matter.
Result<Scene> look_at(const PlacementRow& row) {
  Scene out;
  auto spot = open_spot(row.path);
  if (spot) {
    out.spot = std::move(*spot);
  } else if (spot.error().number != ENOENT) {
    return std::move(spot).error();
  }
  auto target = open_target(row.target);
  if (target) {
    out.target = std::move(*target);
  } else if (target.error().number != ENOENT) {
    return std::move(target).error();
  }
  return out;
}

Status remove_target(const Scene& scene) {
  if (scene.target) {
    SLUICE_CHECK(remove_tree(scene.target->folder.get(), scene.target->name));
    remove_box(scene.target->path);
    step("mend: target removed");
  }
  return {};
}

Status remove_link(const Scene& scene, const PlacementRow& row) {
  if (scene.spot.folder && scene.spot.links_to(row.aside, row.target) &&
      unlinkat(scene.spot.folder.get(), row.aside.c_str(), 0) != 0) {
    return Errno().fail(fmt::format("cannot remove the link beside {}", quote(row.path)));
  }
  step("mend: link removed");
  return scene.spot.folder ? scene.spot.sync_folder() : Status();
}

// Nobody can have written anything yet, unless the link is there.
Status mend_placing(Catalog& catalog, const PlacementRow& row, const Scene& scene) {
  if (scene.spot.folder && scene.spot.links_to(row.target)) {
    return settle(catalog, row);
  }
  if (scene.target) {
    unlinkat(scene.target->folder.get(), scene.target->name.c_str(), AT_REMOVEDIR);
  }
  remove_box(row.target);
  return forget(catalog, row);
}

// The data is at the path; the target is a copy that nobody knows.
Status mend_adopting(Catalog& catalog, const PlacementRow& row, const Scene& scene) {
  SLUICE_CHECK(remove_link(scene, row));
  SLUICE_CHECK(remove_target(scene));
  return forget(catalog, row);
}

Status mend_linking(Catalog& catalog, const PlacementRow& row, const Scene& scene) {
  SLUICE_TRY(const auto there, scene.spot.look());
  SLUICE_TRY(const auto aside, scene.spot.look(row.aside));
  if (scene.spot.links_to(row.target)) {
    // The old data goes when the new name is safe.
    SLUICE_CHECK(scene.spot.sync_folder());
    if (aside && is_meant(row, *aside)) {
      SLUICE_CHECK(remove_tree(scene.spot.folder.get(), row.aside));
      SLUICE_CHECK(scene.spot.sync_folder());
    }
    SLUICE_TRY(const auto file, catalog.find_file(row.path));
    return settle(catalog, row, still_promised(file ? file->promised : 0, row.size));
  }
  if (there && is_meant(row, *there)) {
    return mend_adopting(catalog, row, scene);
  }
  return settle(catalog, row);  // somebody put something else there: nothing of it is ours to remove
}

// The link is at the path; what is aside is a copy that nobody knows.
Status mend_returning(Catalog& catalog, const PlacementRow& row, const Scene& scene) {
  SLUICE_CHECK(remove_tree(scene.spot.folder.get(), row.aside));
  SLUICE_CHECK(scene.spot.sync_folder());
  return settle(catalog, row);
}

Status mend_removing(Catalog& catalog, const PlacementRow& row, const Scene& scene) {
  SLUICE_CHECK(remove_link(scene, row));
  SLUICE_CHECK(remove_target(scene));
  return forget(catalog, row);
}

Status mend_landing(Catalog& catalog, PlacementRow row, const Scene& scene) {
  SLUICE_TRY(const auto there, scene.spot.look());
  // With the link aside the two have changed places, whatever came to the path afterwards.
  const bool landed = (there && is_meant(row, *there)) || scene.spot.links_to(row.aside, row.target);
  if (!landed) {
    return mend_returning(catalog, row, scene);
  }
  SLUICE_CHECK(scene.spot.sync_folder());
  SLUICE_CHECK(journal(catalog, row, placement::removing));
  return mend_removing(catalog, row, scene);
}

}  // namespace

Status mend(Catalog& catalog, const PlacementRow& row) {
  SLUICE_TRY(const Scene scene, look_at(row));
  const bool folder_gone = !scene.spot.folder;
  if (folder_gone && row.state != placement::placing && row.state != placement::removing) {
    return settle(catalog, row);  // with its data, which nothing leads to any more
  }
  if (row.state == placement::placing) {
    return mend_placing(catalog, row, scene);
  }
  if (row.state == placement::adopting) {
    return mend_adopting(catalog, row, scene);
  }
  if (row.state == placement::linking) {
    return mend_linking(catalog, row, scene);
  }
  if (row.state == placement::returning) {
    return mend_returning(catalog, row, scene);
  }
  if (row.state == placement::landing) {
    return mend_landing(catalog, row, scene);
  }
  if (row.state == placement::removing) {
    return mend_removing(catalog, row, scene);
  }
  return row.state == placement::placed
             ? Status()
             : Status(fail(fmt::format("{} has the unknown state {}", quote(row.path), quote(row.state)),
                           "use the Sluice that placed it"));
}

Result<std::vector<std::string>> mend_all(Catalog& catalog, Duration patience) {
  SLUICE_TRY(const std::vector<PlacementRow> all, catalog.placements());
  std::vector<std::string> out;
  for (const PlacementRow& one : all) {
    if (one.state == placement::placed) {
      continue;
    }
    const auto lock = catalog.lock_placement(one.path);
    if (!lock && lock.error().number == EAGAIN) {
      continue;  // it is being worked on
    }
    if (!lock) {
      out.push_back(lock.error().text());
      continue;
    }
    // It may have been finished before the lock was had.
    SLUICE_TRY(const auto row, catalog.find_placement(one.path));
    if (!row || row->state == placement::placed) {
      continue;
    }
    if (!answers(row->path, patience) || !answers(row->target, patience)) {
      out.push_back(fmt::format("the file system of {} or of {} does not answer", quote(row->path),
                                quote(row->target)));
      continue;
    }
    if (const Status mended = mend(catalog, *row); !mended) {
      out.push_back(mended.error().text());
    }
  }
  return out;
}

}  // namespace sluice

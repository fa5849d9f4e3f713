#include "placing/mend.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/files.h"
#include "base/reach.h"
#include "base/step.h"
#include "base/text.h"
#include "placing/sides.h"
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

Result<bool> has_data(const Scene& scene) {
  if (!scene.target) {
    return false;
  }
  SLUICE_TRY(const auto there, scene.target->look());
  return there.has_value();
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
  if (scene.spot.folder) {
    remove_tried(scene.spot, row);
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

// The link took the path. The old data goes when the new name is safe and the copy has all of it.
Status mend_linked(Catalog& catalog, const PlacementRow& row, const Scene& scene) {
  SLUICE_CHECK(scene.spot.sync_folder());
  SLUICE_TRY(const auto old, scene.spot.look(row.aside));
  if (old && is_meant(row, *old)) {
    SLUICE_TRY(const bool copied, has_data(scene));
    // Without a copy, on a place that forgets, the old data is all there is.
    OldFate fate = OldFate::take;
    if (copied) {
      SLUICE_TRY(fate, fate_of_old(row, scene.spot, row.aside, *scene.target, scene.target->name));
    }
    if (fate == OldFate::take) {
      SLUICE_CHECK(swap_names(scene.spot, row.aside));
      step("mend: link taken back");
      SLUICE_CHECK(scene.spot.sync_folder());
      return mend_adopting(catalog, row, scene);
    }
    SLUICE_CHECK(fate == OldFate::keep ? keep_old(row, scene.spot, row.aside, scene.spot.name)
                                       : remove_tree(scene.spot.folder.get(), row.aside));
    SLUICE_CHECK(scene.spot.sync_folder());
  }
  SLUICE_TRY(const auto file, catalog.find_file(row.path));
  return settle(catalog, row, still_promised(file ? file->promised : 0, row.size));
}

Status mend_linking(Catalog& catalog, const PlacementRow& row, const Scene& scene) {
  SLUICE_TRY(const auto there, scene.spot.look());
  if (scene.spot.links_to(row.target)) {
    return mend_linked(catalog, row, scene);
  }
  if (there && is_meant(row, *there)) {
    return mend_adopting(catalog, row, scene);
  }
  // Somebody put something else there: nothing but the link aside is ours to remove.
  SLUICE_CHECK(remove_link(scene, row));
  return settle(catalog, row);
}

// The link is at the path; what is aside is a copy that nobody knows.
Status mend_returning(Catalog& catalog, const PlacementRow& row, const Scene& scene) {
  SLUICE_CHECK(remove_tree(scene.spot.folder.get(), row.aside));
  remove_tried(scene.spot, row);
  SLUICE_CHECK(scene.spot.sync_folder());
  return settle(catalog, row);
}

Status mend_removing(Catalog& catalog, const PlacementRow& row, const Scene& scene) {
  if (scene.spot.folder && scene.spot.links_to(row.target)) {
    return settle(catalog, row);  // whoever wrote to the path wrote there
  }
  SLUICE_CHECK(remove_link(scene, row));
  SLUICE_CHECK(remove_target(scene));
  return forget(catalog, row);
}

// The link takes the path from a file.
Status put_link_back(const Scene& scene, const PlacementRow& row) {
  const Spot& spot = scene.spot;
  if (!spot.links_to(row.aside, row.target) &&
      symlinkat(row.target.c_str(), spot.folder.get(), row.aside.c_str()) != 0) {
    return Errno().fail(fmt::format("cannot make a link beside {}", quote(row.path)));
  }
  if (renameat(spot.folder.get(), row.aside.c_str(), spot.folder.get(), spot.name.c_str()) != 0) {
    return Errno().fail(fmt::format("cannot put the link of {} back", quote(row.path)));
  }
  step("mend: link in place again");
  return {};
}

Status mend_landing(Catalog& catalog, PlacementRow row, const Scene& scene) {
  SLUICE_TRY(const auto there, scene.spot.look());
  // With the link aside the two have changed places, whatever came to the path afterwards.
  const bool landed = (there && is_meant(row, *there)) || scene.spot.links_to(row.aside, row.target);
  if (!landed) {
    return mend_returning(catalog, row, scene);
  }
  SLUICE_CHECK(scene.spot.sync_folder());
  SLUICE_TRY(const bool left, has_data(scene));
  if (left) {
    const Spot& old = *scene.target;
    SLUICE_TRY(const OldFate fate, fate_of_old(row, old, old.name, scene.spot, scene.spot.name));
    if (fate == OldFate::take) {
      SLUICE_CHECK(put_link_back(scene, row));
      return mend_returning(catalog, row, scene);
    }
    if (fate == OldFate::keep) {
      SLUICE_CHECK(keep_old(row, old, old.name, old.name));
    }
  }
  SLUICE_CHECK(journal(catalog, row, placement::removing));
  return mend_removing(catalog, row, scene);
}

// The folder of the path is not there, or is another: what is missing in it says nothing.
Status mend_without_folder(Catalog& catalog, const PlacementRow& row, const Scene& scene,
                           const std::string& why) {
  SLUICE_TRY(const bool data, has_data(scene));
  const bool begun = row.state != placement::placing && row.state != placement::removing;
  if (data || (begun && !scene.target)) {
    return fail(ESTALE, fmt::format("{} was interrupted while {}, and {}", quote(row.path), row.state, why))
        .advise(fmt::format("mount or move back what was there; where that is gone for good, move {} away by "
                            "hand, and `sluice status --clean` forgets the rest",
                            quote(row.target)));
  }
  remove_box(row.target);
  return forget(catalog, row);
}

// Absolute, without parts that lead elsewhere.
bool is_plain(const std::string& path) {
  const auto parts = split(path, '/');
  return parts.size() > 1 && parts.front().empty() && path.find('\0') == std::string::npos &&
         std::none_of(parts.begin() + 1, parts.end(),
                      [](std::string_view part) { return part.empty() || part == "." || part == ".."; });
}

bool is_aside_of(const std::string& aside, const std::string& path) {
  const auto name = name_of_aside(aside);
  return name && aside.find('/') == std::string::npos &&
         std::string_view(path).substr(path.rfind('/') + 1).starts_with(*name);
}

}  // namespace

Status check_row(const PlacementRow& row) {
  const std::string own = folder_of(folder_of(row.target));
  const bool sound = is_plain(row.path) && is_plain(row.target) && own.ends_with("/" + own_name()) &&
                     (row.aside.empty() || is_aside_of(row.aside, row.path));
  return sound ? Status()
               : Status(fail(EPERM, fmt::format("the catalog has something of {} that Sluice does not write",
                                                quote(row.path)))
                            .advise("nothing was changed; find out who wrote it"));
}

Status mend(Catalog& catalog, const PlacementRow& row) {
  SLUICE_CHECK(check_row(row));
  SLUICE_TRY(const Scene scene, look_at(row));
  const std::string doubt = scene.spot.folder
                                ? doubt_of(row.target, scene.spot).value_or("")
                                : fmt::format("its folder {} is gone", quote(folder_of(row.path)));
  if (row.state != placement::placed && !doubt.empty()) {
    return mend_without_folder(catalog, row, scene, doubt);
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

Status forget_unlinked(Catalog& catalog, const PlacementRow& row) {
  SLUICE_CHECK(check_row(row));
  const Trace trace = trace_link(row.path, row.target, row.aside);
  if (row.state != placement::placed || trace.found()) {
    return {};
  }
  SLUICE_TRY(const Scene scene, look_at(row));
  SLUICE_TRY(const bool data, has_data(scene));
  if (data && !trace.gone()) {
    return fail(ESTALE, fmt::format("it cannot be told whether the link at {} is gone: {}", quote(row.path),
                                    trace.doubt));
  }
  PlacementRow last = row;
  SLUICE_CHECK(journal(catalog, last, placement::removing));
  return mend(catalog, last);
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

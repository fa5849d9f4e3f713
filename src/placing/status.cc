#include "placing/status.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <map>
#include <set>

#include "base/files.h"
#include "base/reach.h"
#include "base/text.h"
#include "intent/parse.h"
#include "move/home.h"
#include "move/tree.h"
#include "places/discover.h"
#include "placing/mend.h"
#include "placing/sides.h"
#include "placing/spot.h"
#include "placing/transfer.h"
#include "placing/words.h"

namespace sluice {
namespace {

const Place* find_by_id(const Storage& storage, const std::string& id) {
  const auto& places = storage.found.places;
  const auto found =
      std::find_if(places.begin(), places.end(), [&](const Place& place) { return place.id == id; });
  return found == places.end() ? nullptr : &*found;
}

// What it was placed for still has to hold; the room that it takes is its own.
std::vector<std::string> broken_constraints(const PlacementRow& row, const Place& place) {
  const auto intent = parse_intent(row.intent);
  if (!intent) {
    return {fmt::format("its intent {} cannot be read", quote(row.intent))};
  }
  Place as_it_is = place;
  as_it_is.promised = 0;
  as_it_is.free.value = std::max(place.free.value_or(0), intent->total_size().value_or(0));
  const Plan plan = make_plan(*intent, std::span(&as_it_is, 1));
  return plan.rejected.empty() ? std::vector<std::string>() : plan.rejected.front().because;
}

// "sluice-placed-1000/work-1a2b3c4d/out.dat": what stays the same wherever a place is mounted.
std::string lasting_part(const std::string& target) {
  const std::string own = folder_of(folder_of(target));
  return target.substr(own.rfind('/') + 1);
}

// Whether a link in the folder leads to that data, by whatever mount point.
bool is_linked(const Spot& spot, const std::string& target) {
  const std::string end = "/" + lasting_part(target);
  const std::string folder = fmt::format("/proc/self/fd/{}", spot.folder.get());
  const auto names = list_folder(folder);
  return !names || std::any_of(names->begin(), names->end(), [&](const std::string& name) {
    const auto leads = read_link(folder + "/" + name);
    return leads && leads->ends_with(end);
  });
}

std::string word_for_shell(const std::string& path) {
  std::string out = "'";
  for (const char letter : path) {
    out += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  }
  return out + "'";
}

std::string command(std::string_view verb, const std::string& path) {
  return fmt::format("sluice {} {}", verb, escape(word_for_shell(path)));
}

void look_at_link(Standing& out) {
  Trace trace = trace_link(out.row.path, out.row.target, out.row.aside);
  // Where its folder on the place is gone, so is the data, and what was remembered of the path.
  const bool sure = trace.found() || trace.gone() || (out.lost && !trace.seen.empty());
  out.link = sure ? trace.seen : "";
  if (!sure) {
    out.doubt = std::move(trace.doubt);
    out.mend = std::move(trace.advice);
  }
}

// What another command works on is not opened: that would be in its way.
void look_at_data(Standing& out, bool moving) {
  const auto target = open_target(out.row.target);
  out.box = target.has_value();
  out.lost = !target && target.error().number == ENOENT;
  const auto there =
      target ? target->look() : Result<std::optional<struct stat>>(std::optional<struct stat>());
  out.data = there && *there;
  if (!out.data || moving) {
    return;
  }
  if (const auto tree = look_at_tree(target->folder.get(), target->name, target->path, false)) {
    out.row.size = tree->size;
  }
}

// `place` is the one that the row names, and null where that is not known here.
void judge(Standing& out, const Place* place) {
  const PlacementRow& row = out.row;
  if (row.state != placement::placed) {
    out.trouble = fmt::format("interrupted while {}", row.state);
    out.mend = "sluice status --clean";
  } else if (place != nullptr && place->reach != Reach::reachable) {
    out.trouble = fmt::format("its place cannot be reached: {}", place->reach_note);
    out.mend = "mount it";
  } else if (place == nullptr && !out.box) {
    out.trouble = "its place is not there; is it mounted?";
    out.mend = "mount it";
  } else if (!out.box && !out.lost) {
    out.trouble = "its folder on the place cannot be looked at";
    out.mend = fmt::format("see who may use {}", escape(folder_of(row.target)));
  } else if (!out.data && (out.link == "removed" || out.link == "replaced")) {
    out.orphan = true;
    out.trouble = "there is neither link nor data";
    out.mend = "sluice status --clean forgets it";
  } else if (!out.doubt.empty()) {
    out.trouble = fmt::format("it cannot be told whether its link is gone: {}", out.doubt);
    if (out.mend.empty()) {
      out.mend = fmt::format(
          "mount or move back what was there; where that is gone for good, {} brings the data "
          "to the folder that is there then",
          command("undo", row.path));
    }
  } else if (out.lost) {
    out.trouble = place->is_volatile.value_or(false)
                      ? "its place is volatile and was emptied; what was created there is lost"
                      : "its folder on the place is gone; is the right file system mounted?";
    out.mend = command("undo", row.path) + " removes the link";
  } else if (!out.data && !placement::is_new(row.kind)) {
    out.trouble = "its data is gone";
    out.mend = command("undo", row.path);
  } else if (out.link == "removed" || out.link == "replaced") {
    out.orphan = true;
    out.trouble = fmt::format("its link was {}, nothing leads to the data", out.link);
    out.mend = fmt::format("{}sluice status --clean removes it",
                           out.link == "removed" ? command("undo", row.path) + " brings it back, " : "");
  } else if (out.link.starts_with("renamed")) {
    out.trouble = fmt::format("its link was {}", out.link);
    out.mend = fmt::format("rename the link back, then {}", command("finalize", row.path));
  }
}

// The folders of ours on the places, without links in their paths.
std::set<std::pair<std::string, std::string>> own_folders(const Storage& storage, Duration patience) {
  std::set<std::pair<std::string, std::string>> out;
  for (const Place& place : storage.found.places) {
    if (place.reach != Reach::reachable || !answers(place.path, patience)) {
      continue;
    }
    std::error_code trouble;
    const auto where = std::filesystem::canonical(place.path, trouble);
    const std::string own = (where / own_name()).string();
    if (!trouble && std::none_of(out.begin(), out.end(), [&](const auto& one) { return one.first == own; })) {
      out.emplace(own, place.id);
    }
  }
  return out;
}

// Whether a link at the path that a box names leads to what is in it: `linked`, `loose`, or why neither is
// sure.
std::string look_at_path_of(Leftover& out) {
  if (out.belongs.empty()) {
    return "it does not say where it belongs";
  }
  const auto spot = open_spot(out.belongs);
  if (!spot) {
    return spot.error().what;
  }
  out.linked = is_linked(*spot, out.path);
  std::string doubt = doubt_of(out.path, *spot).value_or("it does not say which folder that was in");
  out.loose = !out.linked && doubt.empty();
  return doubt;
}

Leftover look_at_box(const std::string& path, const std::string& place) {
  Leftover out;
  out.path = path;
  out.place = place;
  const auto inside = open_folder(path, true);
  const auto names = inside ? list_folder(fmt::format("/proc/self/fd/{}", inside->get()))
                            : Result<std::vector<std::string>>(std::vector<std::string>());
  if (const auto belongs = read_link(fmt::format("{}/{}", path, box_mark))) {
    out.belongs = *belongs;
  }
  bool empty = inside && names;
  for (const std::string& name : names ? *names : std::vector<std::string>()) {
    if (is_mark(name)) {
      continue;
    }
    empty = false;
    out.path = fmt::format("{}/{}", path, name);
    if (const auto tree = look_at_tree(inside->get(), name, out.path, false)) {
      out.size += tree->size;
    }
  }
  if (empty) {
    // What would be in it.
    out.path = fmt::format("{}/{}", path, out.belongs.substr(out.belongs.rfind('/') + 1));
  }
  const std::string doubt = look_at_path_of(out);
  out.loose = out.loose || (empty && out.belongs.empty());
  const std::string_view what = empty ? "an empty folder of ours" : "data";
  if (out.path.find(kept_end, path.size()) != std::string::npos) {
    out.linked = out.loose = false;
    out.what = "data that was changed while it was brought home, which its path does not have";
    out.mend = "compare the two, and remove it by hand";
  } else if (out.linked) {
    out.what = "placed data that the catalog does not know; its link is there";
    out.mend = "sluice status --clean makes it known again";
  } else if (out.loose) {
    out.what = fmt::format("{} that neither the catalog nor a link knows", what);
    out.mend = "sluice status --clean removes it";
  } else {
    out.what = fmt::format("{} that the catalog does not know, and it cannot be told whether a link does: {}",
                           what, escape(doubt));
    out.mend = "look at it, and remove it by hand";
  }
  return out;
}

// What is beside a path that is placed, and was not made by a command that works on it now.
bool is_left(Catalog& catalog, const PlacementRow& row, const std::string& path) {
  const auto lock = catalog.lock_placement(row.path);
  const auto now = catalog.find_placement(row.path);
  struct stat about {};
  return lock && now && *now && (*now)->state == placement::placed && lstat(path.c_str(), &about) == 0;
}

// Old data that stays beside a path because somebody came to it while it was moved; no row has it.
std::vector<Leftover> look_beside(Catalog& catalog, const std::vector<Standing>& placed) {
  std::map<std::string, std::map<std::string, const PlacementRow*>>
      folders;  // by what an aside has of a name
  std::set<std::string> known;
  for (const Standing& one : placed) {
    known.insert(one.row.path);
    if (!one.link.empty()) {  // its folder answers
      const std::string name = one.row.path.substr(one.row.path.rfind('/') + 1);
      folders[folder_of(one.row.path)].emplace(name.substr(0, most_of_name), &one.row);
    }
  }
  std::vector<Leftover> out;
  for (const auto& [folder, rows] : folders) {
    const auto names = list_folder(folder);
    for (const std::string& name : names ? *names : std::vector<std::string>()) {
      const auto row = rows.find(name_of_aside(name).value_or(""));
      const std::string path = fmt::format("{}/{}", folder, name);
      if (row == rows.end() || known.contains(path) || !is_left(catalog, *row->second, path)) {
        continue;
      }
      Leftover one;
      one.path = path;
      one.belongs = row->second->path;
      const auto spot = open_spot(path);
      const auto tree =
          spot ? look_at_tree(spot->folder.get(), spot->name, path, false) : Result<Tree>(spot.error());
      one.size = tree ? tree->size : 0;
      one.what = "what is left of the old data, which somebody came to while it was moved";
      one.mend = "put what is needed of it in its place, and remove the rest by hand";
      out.push_back(std::move(one));
    }
  }
  return out;
}

// Whether a command is at it. One that ended meanwhile left another row, or none.
bool is_worked_on(Catalog& catalog, std::optional<PlacementRow>& row) {
  if (row->state == placement::placed) {
    return false;
  }
  const auto lock = catalog.lock_placement(row->path);
  if (!lock) {
    return lock.error().number == EAGAIN;
  }
  if (auto now = catalog.find_placement(row->path)) {
    row = std::move(*now);
  }
  return false;
}

Status forget_orphan(Catalog& catalog, const Standing& one) {
  SLUICE_TRY(const UniqueFd lock, catalog.lock_placement(one.row.path));
  SLUICE_TRY(const auto row, catalog.find_placement(one.row.path));
  // Else somebody else was at it.
  return row && row->target == one.row.target ? forget_unlinked(catalog, *row) : Status();
}

Status know_again(Catalog& catalog, const Leftover& one) {
  const auto spot = open_spot(one.belongs);
  if (!spot || !spot->links_to(one.path)) {
    return fail(fmt::format("{} does not lead to {}", quote(one.belongs), quote(one.path)),
                "mount the place where it was, and rename the link back, then try again");
  }
  struct stat about {};
  const bool there = lstat(one.path.c_str(), &about) == 0;
  if (!there && errno != ENOENT) {
    return Errno().fail(fmt::format("cannot look at {}", quote(one.path)));
  }
  return catalog.add_placement({.path = one.belongs,
                                .target = one.path,
                                .place = one.place,
                                .intent = {},
                                .kind = std::string(!there                   ? placement::fresh
                                                    : S_ISDIR(about.st_mode) ? placement::folder
                                                                             : placement::file),
                                .state = std::string(placement::placed),
                                .since = there ? about.st_mtim.tv_sec : time(nullptr),
                                .size = one.size,
                                .checksum = {},
                                .aside = {},
                                .facts = "{}"},
                               0);
}

Status remove_leftover(Catalog& catalog, const Leftover& one) {
  SLUICE_TRY(const UniqueFd lock, catalog.lock_placement(one.belongs));
  SLUICE_TRY(const auto row, catalog.find_placement(one.belongs));
  if (row && row->target == one.path) {
    return {};
  }
  SLUICE_TRY(const Spot target, open_target(one.path));
  SLUICE_CHECK(remove_tree(target.folder.get(), target.name));
  remove_box(one.path);
  return {};
}

}  // namespace

Result<Standings> look_at_placements(Catalog* catalog, const Storage& storage, Duration patience) {
  Standings out;
  std::set<std::string> known;  // by what lasts: a place may be mounted elsewhere by now
  std::vector<PlacementRow> rows;
  if (catalog != nullptr) {
    SLUICE_TRY(rows, catalog->placements());
  }
  for (PlacementRow& row : rows) {
    std::optional<PlacementRow> now = std::move(row);
    const bool moving = is_worked_on(*catalog, now);
    if (!now) {
      continue;
    }
    Standing one;
    one.row = std::move(*now);
    known.insert(folder_of(lasting_part(one.row.target)));
    const Place* place = find_by_id(storage, one.row.place);
    one.place = place != nullptr ? place->name : one.row.place;
    if ((place == nullptr || place->reach == Reach::reachable) && answers(one.row.target, patience)) {
      look_at_data(one, moving);
    }
    // By whatever the data is on, where nobody has told here of the place.
    const Place* on = place == nullptr && one.box ? place_of(storage.found, one.row.target) : place;
    if (on != nullptr && on->reach == Reach::reachable) {
      one.broken = broken_constraints(one.row, *on);
    }
    if (answers(folder_of(one.row.path), patience)) {
      look_at_link(one);
    } else {
      one.doubt = "its folder does not answer";
    }
    if (moving) {
      one.mend = "being moved by another command";
    } else {
      judge(one, place);
    }
    out.placed.push_back(std::move(one));
  }
  if (catalog != nullptr) {
    out.leftover = look_beside(*catalog, out.placed);
  }
  for (const auto& [own, place] : own_folders(storage, patience)) {
    const auto folder = open_folder(own, true);
    const auto boxes = folder ? list_folder(fmt::format("/proc/self/fd/{}", folder->get()))
                              : Result<std::vector<std::string>>(std::vector<std::string>());
    for (const std::string& box : boxes ? *boxes : std::vector<std::string>()) {
      const std::string path = fmt::format("{}/{}", own, box);
      if (known.count(fmt::format("{}/{}", own_name(), box)) == 0) {
        out.leftover.push_back(look_at_box(path, place));
      }
    }
  }
  return out;
}

Result<std::vector<std::string>> clean_up(Catalog& catalog, const Storage& storage, Duration patience) {
  SLUICE_TRY(std::vector<std::string> out, mend_all(catalog, patience));
  SLUICE_TRY(const Standings all, look_at_placements(&catalog, storage, patience));
  const auto note = [&](const Status& done, const std::string& text) {
    out.push_back(done ? text : done.error().text());
  };
  for (const Standing& one : all.placed) {
    if (one.orphan) {
      note(forget_orphan(catalog, one),
           one.data
               ? fmt::format("removed {}, {}, which was {} before its link was {}", quote(one.row.target),
                             human_size(one.row.size), quote(one.row.path), one.link)
               : fmt::format("forgot {}, of which neither link nor data was there", quote(one.row.path)));
    } else if (one.data && !one.doubt.empty()) {
      out.push_back(fmt::format("left {}: it cannot be told whether the link at {} is gone: {}",
                                quote(one.row.target), quote(one.row.path), one.doubt));
    }
  }
  for (const Leftover& one : all.leftover) {
    if (one.linked) {
      note(know_again(catalog, one), fmt::format("{} is known again", quote(one.belongs)));
    } else if (one.loose) {
      note(remove_leftover(catalog, one),
           fmt::format("removed {}, {}, {}", quote(one.path), human_size(one.size), one.what));
    } else {
      out.push_back(fmt::format("left {}, {}", quote(one.path), one.what));
    }
  }
  return out;
}

}  // namespace sluice

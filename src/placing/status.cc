#include "placing/status.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "base/reach.h"
#include "base/text.h"
#include "intent/parse.h"
#include "move/tree.h"
#include "placing/mend.h"
#include "placing/spot.h"
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

// Where in its folder the link went, when somebody renamed it.
std::string renamed_to(const Spot& spot, const std::string& target) {
  const auto names = list_folder(fmt::format("/proc/self/fd/{}", spot.folder.get()));
  for (const std::string& name : names ? *names : std::vector<std::string>()) {
    if (spot.links_to(name, target)) {
      return name;
    }
  }
  return {};
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
  const auto spot = open_spot(out.row.path);
  if (!spot) {
    out.link = spot.error().number == ENOENT ? "removed" : "";
    return;
  }
  const auto there = spot->look();
  if (spot->links_to(out.row.target)) {
    out.link = "there";
  } else if (const std::string name = renamed_to(*spot, out.row.target); !name.empty()) {
    out.link = fmt::format("renamed to {}", name);
  } else {
    out.link = there && *there ? "replaced" : "removed";
  }
}

void look_at_data(Standing& out) {
  const auto target = open_target(out.row.target);
  const auto there =
      target ? target->look() : Result<std::optional<struct stat>>(std::optional<struct stat>());
  out.data = there && *there;
  if (!out.data) {
    return;
  }
  if (const auto tree = look_at_tree(target->folder.get(), target->name, target->path, false)) {
    out.row.size = tree->size;
  }
}

void judge(Standing& out, const Place* place) {
  const PlacementRow& row = out.row;
  if (row.state != placement::placed) {
    out.trouble = fmt::format("interrupted while {}", row.state);
    out.mend = "sluice status --clean";
  } else if (place == nullptr || place->reach != Reach::reachable) {
    out.trouble = place == nullptr ? "its place is not there; is it mounted?"
                                   : fmt::format("its place cannot be reached: {}", place->reach_note);
    out.mend = "mount it";
  } else if (!out.data && out.link != "there") {
    out.orphan = true;
    out.trouble = "there is neither link nor data";
    out.mend = "sluice status --clean forgets it";
  } else if (!out.data && row.kind != placement::fresh) {
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

Leftover look_at_box(const std::string& path, const std::string& place) {
  Leftover out{
      .path = path, .belongs = {}, .place = place, .size = 0, .linked = false, .what = {}, .mend = {}};
  const auto inside = open_folder(path, true);
  const auto names = inside ? list_folder(fmt::format("/proc/self/fd/{}", inside->get()))
                            : Result<std::vector<std::string>>(std::vector<std::string>());
  if (const auto belongs = read_link(fmt::format("{}/{}", path, box_mark))) {
    out.belongs = *belongs;
  }
  for (const std::string& name : names ? *names : std::vector<std::string>()) {
    if (name == box_mark) {
      continue;
    }
    out.path = fmt::format("{}/{}", path, name);
    if (const auto tree = look_at_tree(inside->get(), name, out.path, false)) {
      out.size += tree->size;
    }
  }
  const auto spot = open_spot(out.belongs.empty() ? "/" : out.belongs);
  // What cannot be looked at may be a link.
  out.linked = !out.belongs.empty() && (spot ? is_linked(*spot, out.path) : spot.error().number != ENOENT);
  if (out.path == path) {
    out.what = "an empty folder of ours";
    out.mend = "sluice status --clean removes it";
  } else if (out.linked) {
    out.what = "placed data that the catalog does not know; its link is there";
    out.mend = "sluice status --clean makes it known again";
  } else if (out.belongs.empty()) {
    out.what = "data in a folder of ours that does not say where it belongs";
    out.mend = "look at it, and remove it by hand";
  } else {
    out.what = "data that neither the catalog nor a link knows";
    out.mend = "sluice status --clean removes it";
  }
  return out;
}

Status forget_orphan(Catalog& catalog, const Standing& one) {
  SLUICE_TRY(const UniqueFd lock, catalog.lock_placement(one.row.path));
  SLUICE_TRY(const auto row, catalog.find_placement(one.row.path));
  const auto spot = open_spot(one.row.path);
  if (!row || row->state != placement::placed || row->target != one.row.target ||
      (spot && spot->links_to(row->target))) {
    return {};  // somebody else was at it
  }
  PlacementRow last = *row;
  last.state = placement::removing;
  SLUICE_CHECK(catalog.put_placement(last, std::nullopt));
  return mend(catalog, last);
}

Status know_again(Catalog& catalog, const Leftover& one) {
  const auto spot = open_spot(one.belongs);
  if (!spot || !spot->links_to(one.path)) {
    return fail(fmt::format("{} does not lead to {}", quote(one.belongs), quote(one.path)),
                "mount the place where it was, and rename the link back, then try again");
  }
  struct stat about {};
  if (lstat(one.path.c_str(), &about) != 0) {
    return Errno().fail(fmt::format("cannot look at {}", quote(one.path)));
  }
  return catalog.add_placement(
      {.path = one.belongs,
       .target = one.path,
       .place = one.place,
       .intent = {},
       .kind = std::string(S_ISDIR(about.st_mode) ? placement::folder : placement::file),
       .state = std::string(placement::placed),
       .since = about.st_mtim.tv_sec,
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
  if (one.what.starts_with("an empty")) {
    remove_box(one.path + "/x");
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
    Standing one;
    one.row = std::move(row);
    known.insert(folder_of(lasting_part(one.row.target)));
    const Place* place = find_by_id(storage, one.row.place);
    one.place = place != nullptr ? place->name : one.row.place;
    if (place != nullptr && place->reach == Reach::reachable) {
      if (answers(one.row.target, patience)) {
        look_at_data(one);
      }
      one.broken = broken_constraints(one.row, *place);
    }
    if (answers(folder_of(one.row.path), patience)) {
      look_at_link(one);
    }
    judge(one, place);
    out.placed.push_back(std::move(one));
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
               : fmt::format("forgot {}, which was never created", quote(one.row.path)));
    }
  }
  for (const Leftover& one : all.leftover) {
    if (one.linked) {
      note(know_again(catalog, one), fmt::format("{} is known again", quote(one.belongs)));
    } else if (!one.belongs.empty() || one.what.starts_with("an empty")) {
      note(remove_leftover(catalog, one),
           fmt::format("removed {}, {}, {}", quote(one.path), human_size(one.size), one.what));
    }
  }
  return out;
}

}  // namespace sluice

#include "placing/back.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/step.h"
#include "base/text.h"
#include "base/units.h"
#include "placing/mend.h"
#include "placing/transfer.h"
#include "placing/words.h"

namespace sluice {
namespace {

class Return {
 public:
  Return(Catalog& catalog, const Spot& spot, const Spot& target, PlacementRow& row, const GoOn& go_on)
      : catalog_(catalog), spot_(spot), target_(target), row_(row), go_on_(go_on) {}

  Result<std::uint64_t> run(bool linked) {
    SLUICE_TRY(const Tree tree, look_at_tree(target_.folder.get(), target_.name, target_.path, false));
    SLUICE_CHECK(check_room(tree));
    row_.aside = aside_name(spot_.name);
    row_.size = tree.size;
    SLUICE_CHECK(journal(catalog_, row_, placement::returning));
    if (Status done = until_undisturbed([&] { return attempt(linked); }); !done) {
      SLUICE_CHECK(mend(catalog_, row_));
      return std::move(done).error();
    }
    SLUICE_CHECK(journal(catalog_, row_, placement::removing));
    SLUICE_CHECK(mend(catalog_, row_));
    return row_.size;
  }

 private:
  Status check_room(const Tree& tree) {
    struct statvfs about {};
    if (fstatvfs(spot_.folder.get(), &about) != 0) {
      return Errno().fail(fmt::format("cannot look at folder {}", quote(folder_of(spot_.path))));
    }
    const std::uint64_t free = about.f_bavail * about.f_frsize;
    const std::uint64_t wanted = tree.room + tree.entries.size() * about.f_frsize;
    if (wanted > free) {
      return fail(ENOSPC, fmt::format("{} needs {}, and {} has {} free", quote(spot_.path),
                                      human_size(wanted), quote(folder_of(spot_.path)), human_size(free)))
          .advise("nothing was copied; make room and try again");
    }
    return {};
  }

  // The data is at the path and the link aside, or everything is as it was but for a copy.
  Status attempt(bool linked) {
    const LeaseSignals untold;
    SLUICE_CHECK(remove_tree(spot_.folder.get(), row_.aside));
    SLUICE_TRY(const Tree tree, look_at_tree(target_.folder.get(), target_.name, target_.path, false));
    TreeCopy copy(go_on_);
    SLUICE_CHECK(copy.run(tree, target_.folder.get(), target_.name, spot_.folder.get(), row_.aside));
    SLUICE_TRY(const auto made, spot_.look(row_.aside));
    if (!made) {
      return fail(ECANCELED, "the copy was removed");
    }
    row_.facts = facts_of(*made);
    row_.checksum = copy.checksum();
    row_.size = tree.size;
    SLUICE_CHECK(journal(catalog_, row_, placement::landing));
    SLUICE_CHECK(land(linked, S_ISDIR(made->st_mode)));
    step("return: data in place");
    wait_for_lookups();
    const auto now = look_at_tree(target_.folder.get(), target_.name, target_.path, false);
    if (copy.undisturbed() && now && is_unchanged(tree, *now)) {
      return spot_.sync_folder();
    }
    // Somebody followed the link before, and writes to the old data: then that is the file again.
    SLUICE_CHECK(take_back(linked));
    step("return: link in place again");
    SLUICE_CHECK(journal(catalog_, row_, placement::returning));
    return fail(ECANCELED, "somebody came to write");
  }

  Status land(bool linked, bool folder) {
    if (!linked) {
      return renameat2(spot_.folder.get(), row_.aside.c_str(), spot_.folder.get(), spot_.name.c_str(),
                       RENAME_NOREPLACE) == 0
                 ? Status()
                 : Errno().fail(fmt::format("cannot put {} in its place", quote(spot_.path)));
    }
    if (!spot_.links_to(row_.target)) {
      return fail(ESTALE, fmt::format("{} is no link to its data any more", quote(spot_.path)));
    }
    Status exchanged = swap_names(spot_, row_.aside);
    // Network file systems cannot; a file may take a link's place all the same.
    if (!exchanged && exchanged.error().number == EINVAL && !folder &&
        renameat(spot_.folder.get(), row_.aside.c_str(), spot_.folder.get(), spot_.name.c_str()) == 0) {
      return {};
    }
    return exchanged;
  }

  Status take_back(bool linked) {
    SLUICE_TRY(const auto aside, spot_.look(row_.aside));
    if (linked && aside) {
      return swap_names(spot_, row_.aside);
    }
    if (symlinkat(row_.target.c_str(), spot_.folder.get(), row_.aside.c_str()) != 0) {
      return Errno().fail(fmt::format("cannot make a link beside {}", quote(spot_.path)));
    }
    if (renameat(spot_.folder.get(), row_.aside.c_str(), spot_.folder.get(), spot_.name.c_str()) != 0) {
      return Errno().fail(fmt::format("cannot put the link of {} back", quote(spot_.path)));
    }
    return {};
  }

  Catalog& catalog_;
  const Spot& spot_;
  const Spot& target_;
  PlacementRow& row_;
  const GoOn& go_on_;
};

// A file that nobody has created: the link goes, unless somebody creates it at that moment.
Result<bool> drop_link(Catalog& catalog, const Spot& spot, const Spot& target, const PlacementRow& row) {
  if (spot.links_to(row.target)) {
    if (unlinkat(spot.folder.get(), spot.name.c_str(), 0) != 0) {
      return Errno().fail(fmt::format("cannot remove link {}", quote(spot.path)));
    }
    step("return: link gone");
    wait_for_lookups();
    SLUICE_TRY(const auto created, target.look());
    if (created) {
      if (symlinkat(row.target.c_str(), spot.folder.get(), spot.name.c_str()) != 0) {
        return Errno().fail(fmt::format("cannot put the link of {} back", quote(spot.path)));
      }
      return false;
    }
    SLUICE_CHECK(spot.sync_folder());
  }
  remove_box(row.target);
  step("return: folder gone");
  SLUICE_CHECK(catalog.remove_placement(row.path));
  step("return: row gone");
  return true;
}

}  // namespace

Result<Returned> bring_back(Catalog& catalog, const std::string& path, WithoutLink without,
                            const GoOn& go_on) {
  SLUICE_TRY(const Spot spot, open_spot(path));
  SLUICE_TRY(const UniqueFd lock, catalog.lock_placement(spot.path));
  SLUICE_TRY(auto row, catalog.find_placement(spot.path));
  Returned out;
  out.path = spot.path;
  if (row && row->state != placement::placed) {
    SLUICE_CHECK(mend(catalog, *row));
    SLUICE_TRY(row, catalog.find_placement(spot.path));
    if (!row) {
      return out;  // what was interrupted is done, or never began
    }
  }
  if (!row) {
    return fail(ENOENT, fmt::format("{} is not placed", quote(spot.path)))
        .advise("`sluice status` lists what is");
  }
  auto target = open_target(row->target);
  if (!target && target.error().number == ENOENT && !spot.links_to(row->target)) {
    SLUICE_CHECK(catalog.remove_placement(row->path));
    out.outcome = Returned::Outcome::nothing;
    return out;
  }
  if (!target) {
    return std::move(target).error().advise("is its place mounted?");
  }
  SLUICE_TRY(auto data, target->look());
  if (!data) {
    SLUICE_TRY(const bool gone, drop_link(catalog, spot, *target, *row));
    if (gone) {
      out.outcome = Returned::Outcome::nothing;
      return out;
    }
  }
  const bool linked = spot.links_to(row->target);
  SLUICE_TRY(const auto there, spot.look());
  if (!linked && (there || without == WithoutLink::keep)) {
    out.outcome = Returned::Outcome::kept;
    out.why = there ? "something else is at its path" : "its link was removed";
    return out;
  }
  Return work(catalog, spot, *target, *row, go_on);
  SLUICE_TRY(out.bytes, work.run(linked));
  return out;
}

}  // namespace sluice

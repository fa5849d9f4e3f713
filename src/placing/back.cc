#include "placing/back.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

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
    // Where it had to be taken back, there is a link in any case.
    const bool folder = S_ISDIR(tree.entries.front().about.st_mode);
    const auto again = [&] { return attempt(linked || spot_.links_to(row_.target)); };
    Status done = linked && folder ? try_exchange(spot_, row_) : Status();
    done = done ? until_undisturbed(again) : std::move(done);
    if (!done) {
      SLUICE_CHECK(mend(catalog_, row_));
      return std::move(done).error();
    }
    SLUICE_TRY(const bool removed, std::move(removed_));
    if (!removed) {
      return keep();
    }
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

  // The data is at the path and the link aside, the old data gone or not; or everything is as it was but for
  // a copy.
  Status attempt(bool linked) {
    const LeaseSignals untold;
    SLUICE_CHECK(remove_tree(spot_.folder.get(), row_.aside));
    SLUICE_TRY(Tree tree, look_at_tree(target_.folder.get(), target_.name, target_.path, false));
    TreeCopy copy(go_on_);
    SLUICE_CHECK(copy.run(tree, target_.folder.get(), target_.name, spot_.folder.get(), row_.aside));
    SLUICE_TRY(const Tree made, look_at_tree(spot_.folder.get(), row_.aside, spot_.path, false));
    row_.facts = facts_of(made.entries.front().about);
    row_.checksum = copy.checksum();
    row_.size = tree.size;
    SLUICE_CHECK(journal(catalog_, row_, placement::landing));
    if (linked && !spot_.links_to(row_.target)) {
      return not_linked();
    }
    if (!copy.undisturbed()) {
      return begin_again();  // before anybody can come to the copy
    }
    const bool folder = S_ISDIR(made.entries.front().about.st_mode);
    SLUICE_CHECK(land(linked, folder));
    step("return: data in place");
    wait_for_lookups();
    if (copy.is_left(tree, target_.folder.get(), target_.name)) {
      SLUICE_CHECK(spot_.sync_folder());
      SLUICE_CHECK(journal(catalog_, row_, placement::removing));
      removed_ = copy.remove_source(tree, target_.folder.get(), target_.name);
      return {};
    }
    // Somebody followed the link before, and is in the old data or writes to it: then that is the file again.
    SLUICE_CHECK(take_back(folder));
    step("return: link in place again");
    wait_for_lookups();
    SLUICE_TRY(const auto aside, spot_.look(row_.aside));
    if (aside && !is_left_alone(made, spot_.folder.get(), row_.aside)) {
      // Unless somebody else has come to the new data, or replaced it: nothing of either goes.
      SLUICE_CHECK(swap_names(spot_, row_.aside));
      removed_ = false;
      return {};
    }
    return begin_again();
  }

  Status begin_again() {
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
    SLUICE_CHECK(exchange(folder));
    SLUICE_TRY(const auto aside, spot_.look(row_.aside));
    return !aside || spot_.links_to(row_.aside, row_.target) ? Status() : give_back();
  }

  // Something took the link's place after it was looked at, and is aside now.
  Status give_back() {
    SLUICE_CHECK(swap_names(spot_, row_.aside));
    SLUICE_TRY(const auto aside, spot_.look(row_.aside));
    if (aside && !is_meant(row_, *aside)) {
      SLUICE_CHECK(swap_names(spot_, row_.aside));  // and once more: the latest has the name
    }
    return not_linked();
  }

  Error not_linked() const {
    return fail(ESTALE, fmt::format("{} is no link to its data any more", quote(spot_.path)));
  }

  Status link_aside() {
    SLUICE_TRY(const auto aside, spot_.look(row_.aside));
    return aside || symlinkat(row_.target.c_str(), spot_.folder.get(), row_.aside.c_str()) == 0
               ? Status()
               : Errno().fail(fmt::format("cannot make a link beside {}", quote(spot_.path)));
  }

  Status take_back(bool folder) {
    SLUICE_CHECK(link_aside());
    return exchange(folder);
  }

  Status exchange(bool folder) {
    Status exchanged = swap_names(spot_, row_.aside);
    // Network file systems cannot; a file and a link may take each other's place all the same.
    if (!exchanged && exchanged.error().number == EINVAL && !folder &&
        renameat(spot_.folder.get(), row_.aside.c_str(), spot_.folder.get(), spot_.name.c_str()) == 0) {
      return {};
    }
    return exchanged;
  }

  // The data is home, and somebody else's part of it is not: that is what the link aside leads to, a
  // placement of its own.
  Error keep() {
    const std::string beside = folder_of(spot_.path) + "/" + row_.aside;
    const auto kept = [&]() -> Status {
      SLUICE_CHECK(link_aside());
      row_.aside.clear();
      row_.facts = "{}";
      SLUICE_CHECK(journal(catalog_, row_, placement::placed));
      SLUICE_CHECK(catalog_.rename_placement(row_.path, beside));
      mark_box(row_.target, beside);
      return spot_.sync_folder();
    };
    if (Status done = kept(); !done) {
      return std::move(done).error();
    }
    return fail(
        fmt::format("{} is home, but somebody came to the old data meanwhile: what is not as it was copied "
                    "is {} now",
                    quote(spot_.path), quote(beside)),
        fmt::format("put what is needed of that in its place; `sluice undo {}` brings it home, too",
                    quote(beside)));
  }

  Catalog& catalog_;
  const Spot& spot_;
  const Spot& target_;
  PlacementRow& row_;
  const GoOn& go_on_;
  Result<bool> removed_ = true;
};

Status check_writable(const Spot& spot) {
  struct statvfs about {};
  if (fstatvfs(spot.folder.get(), &about) != 0) {
    return Errno().fail(fmt::format("cannot look at folder {}", quote(folder_of(spot.path))));
  }
  errno = EROFS;
  if ((about.f_flag & ST_RDONLY) == 0 && faccessat(spot.folder.get(), ".", W_OK | X_OK, AT_EACCESS) == 0) {
    return {};
  }
  return Errno()
      .fail(fmt::format("cannot bring anything to folder {}", quote(folder_of(spot.path))))
      .advise("nothing was changed; make it writable first");
}

// Whether a folder that we made went, because nobody has put anything into it or is there.
bool remove_unused(const Spot& target, const struct stat& about) {
  const bool gone = S_ISDIR(about.st_mode) && users_of({identity_of(about)}).empty() &&
                    unlinkat(target.folder.get(), target.name.c_str(), AT_REMOVEDIR) == 0;
  step("return: unused folder looked at");
  return gone;
}

// There is no data, and the link goes, unless somebody creates a file by it at that moment: false. Without a
// target its folder is gone, and nobody can.
Result<bool> drop_link(Catalog& catalog, const Spot& spot, const Spot* target, PlacementRow& row) {
  if (spot.links_to(row.target)) {
    // By another name first: what comes to the path at this moment is none of ours.
    row.aside = aside_name(spot.name);
    SLUICE_CHECK(journal(catalog, row, placement::returning));
    if (renameat(spot.folder.get(), spot.name.c_str(), spot.folder.get(), row.aside.c_str()) != 0) {
      return Errno().fail(fmt::format("cannot remove link {}", quote(spot.path)));
    }
    step("return: link aside");
    wait_for_lookups();
    const auto created =
        target != nullptr ? target->look() : Result<std::optional<struct stat>>(std::nullopt);
    if (!created || *created || !spot.links_to(row.aside, row.target)) {
      const std::string aside = std::exchange(row.aside, {});
      const int back =
          renameat2(spot.folder.get(), aside.c_str(), spot.folder.get(), spot.name.c_str(), RENAME_NOREPLACE);
      const Errno why;
      SLUICE_CHECK(journal(catalog, row, placement::placed));
      if (back != 0) {
        return why.fail(fmt::format("cannot give {} its name back, it is {} now", quote(spot.path),
                                    quote(folder_of(spot.path) + "/" + aside)));
      }
      SLUICE_CHECK(created);
      return false;
    }
    if (unlinkat(spot.folder.get(), row.aside.c_str(), 0) != 0) {
      return Errno().fail(fmt::format("cannot remove link {}", quote(spot.path)));
    }
    step("return: link gone");
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
                            const IsThere& is_there, const GoOn& go_on) {
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
  SLUICE_CHECK(check_row(*row));
  auto target = open_target(row->target);
  const bool nowhere = !target && target.error().number == ENOENT;
  if (nowhere && !spot.links_to(row->target)) {
    SLUICE_CHECK(catalog.remove_placement(row->path));
    out.outcome = Returned::Outcome::nothing;
    return out;
  }
  if (!target && !(nowhere && is_there(row->place))) {
    return std::move(target).error().advise("is its place mounted?");
  }
  SLUICE_CHECK(check_writable(spot));
  auto data = target ? target->look() : Result<std::optional<struct stat>>(std::nullopt);
  SLUICE_CHECK(data);
  if (without == WithoutLink::restore && *data && row->kind == placement::fresh_folder &&
      remove_unused(*target, **data)) {
    data->reset();
  }
  if (!*data) {
    const bool lost = nowhere || !placement::is_new(row->kind);
    SLUICE_TRY(const bool gone, drop_link(catalog, spot, target ? &*target : nullptr, *row));
    if (gone) {
      out.outcome = lost ? Returned::Outcome::lost : Returned::Outcome::nothing;
      out.why = lost ? "its data is gone from its place" : "";
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
  if (!target) {
    return std::move(target).error();
  }
  Return work(catalog, spot, *target, *row, go_on);
  SLUICE_TRY(out.bytes, work.run(linked));
  return out;
}

}  // namespace sluice

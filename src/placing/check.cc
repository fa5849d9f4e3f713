#include "placing/check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/mountinfo.h"
#include "base/text.h"
#include "places/mounts.h"
#include "placing/mend.h"
#include "placing/words.h"

namespace sluice {
namespace {

std::string_view what_it_is(mode_t mode) {
  return S_ISBLK(mode) || S_ISCHR(mode) ? "a device"
         : S_ISSOCK(mode)               ? "a socket"
         : S_ISFIFO(mode)               ? "a pipe"
         : S_ISLNK(mode)                ? "a symbolic link"
                                        : "no plain file or folder";
}

// A link to data of another path would become part of the folder's data, and nobody would find it there.
Status check_nothing_below(Catalog& catalog, const Spot& spot) {
  SLUICE_TRY(const auto there, spot.look());
  if (!there || !S_ISDIR(there->st_mode)) {
    return {};
  }
  SLUICE_TRY(const auto all, catalog.placements());
  for (const PlacementRow& row : all) {
    if (row.path != spot.path && lies_in(row.path, spot.path)) {
      return fail(EBUSY, fmt::format("{} has a placed path in it, {}", quote(spot.path), quote(row.path)))
          .advise("`sluice finalize` or `sluice undo` that first");
    }
  }
  return {};
}

}  // namespace

Status check_folder(const Spot& spot) {
  const std::string above = folder_of(spot.path);
  if (is_in_own_folder(spot.path)) {
    return bad_input(fmt::format("{} is in a folder of Sluice's own", quote(spot.path)),
                     "name the path that its link is at; `sluice status` lists them");
  }
  if (is_mark(spot.name)) {
    return bad_input(fmt::format("{} has a name that Sluice uses itself", quote(spot.path)), "rename it");
  }
  struct statvfs about {};
  if (fstatvfs(spot.folder.get(), &about) != 0) {
    return Errno().fail(fmt::format("cannot look at folder {}", quote(above)));
  }
  if ((about.f_flag & ST_RDONLY) != 0) {
    return fail(EROFS, fmt::format("cannot make a link in {}", quote(above)))
        .advise("remount it for writing, or place a path elsewhere");
  }
  if (faccessat(spot.folder.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    return Errno()
        .fail(fmt::format("cannot make a link in {}", quote(above)))
        .advise("place a path in a folder that you may write");
  }
  return {};
}

Status check_unplaced(Catalog& catalog, const Spot& spot) {
  SLUICE_TRY(auto row, catalog.find_placement(spot.path));
  if (row && row->state != placement::placed) {
    SLUICE_CHECK(mend(catalog, *row));
    SLUICE_TRY(row, catalog.find_placement(spot.path));
  }
  if (!row) {
    return check_nothing_below(catalog, spot);
  }
  return fail(EEXIST,
              fmt::format("{} is placed already, its data is {}", quote(spot.path), quote(row->target)))
      .advise(fmt::format("`sluice undo {0}` or `sluice finalize {0}` first", quote(spot.path)));
}

Status check_data(const Spot& spot, const struct stat& there) {
  if (!S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) {
    return bad_input(
        fmt::format("{} is {}", quote(spot.path), what_it_is(there.st_mode)),
        S_ISLNK(there.st_mode) ? "name the file that it leads to" : "only files and folders can be placed");
  }
  if (S_ISREG(there.st_mode) && there.st_nlink > 1) {
    return fail(fmt::format("{} has {} other names (hard links), which would keep the old data",
                            quote(spot.path), there.st_nlink - 1),
                "copy it, and place the copy");
  }
  SLUICE_TRY(const std::string table, read_file("/proc/self/mountinfo"));
  for (const Mount& mount : parse_mountinfo(table).mounts) {
    if (mount.point == spot.path) {
      return bad_input(fmt::format("{} is a mount point", quote(spot.path)), "name what is in it");
    }
    if (lies_in(mount.point, spot.path)) {
      return bad_input(fmt::format("{} has another file system mounted in it, at {}", quote(spot.path),
                                   quote(mount.point)),
                       "unmount that, or name what is in the folder one by one");
    }
  }
  return {};
}

Result<const Place*> chosen_place(const Discovery& found, const Plan& plan, const std::string& path) {
  const Ranked* best = plan.chosen();
  const Place* home = place_of(found, path);
  if (best != nullptr && plan.intent.is("global") && (home == nullptr || !home->global.value_or(false))) {
    return fail(EXDEV, fmt::format("{} is seen on this machine only, and its data is to be seen on all",
                                   quote(path)))
        .advise("place a path on storage that the machines share: the link there tells them what was chosen");
  }
  if (best != nullptr) {
    return best->where;
  }
  std::string because;
  for (const Rejection& rejection : plan.rejected) {
    because += fmt::format("\n  {}: {}", rejection.place, escape(join(rejection.because, "; ")));
  }
  return fail(ENOSPC, fmt::format("no place can take {}", quote(path)))
      .advise(fmt::format("what each place breaks of '{}':{}", print(plan.intent),
                          because.empty() ? "\n  there is none" : because));
}

}  // namespace sluice

// Calls that give files other names, or take names away.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "fronts/preload/elsewhere.h"
#include "fronts/preload/export.h"
#include "fronts/preload/file.h"
#include "fronts/preload/pending.h"
#include "pipeline/area.h"

using sluice::Area;
using sluice::AreaMove;
using sluice::FolderHold;
using sluice::FoundMove;
using sluice::Naming;
using sluice::preload::by_name;
using sluice::preload::change_names;
using sluice::preload::drop_name;
using sluice::preload::fails;
using sluice::preload::is_keeping;
using sluice::preload::may_keep_small;
using sluice::preload::NameHold;
using sluice::preload::put_down_all_in;
using sluice::preload::settle;
using sluice::preload::settle_at;
using sluice::preload::stat_by;
using sluice::preload::use_data;

namespace {

// Whether names of files that are elsewhere may change, and the real path that a name is.
bool may_change(int folder, const char* path, char (&out)[sizeof(AreaMove::path)]) {
  const Area* area = sluice::this_area();
  return area != nullptr && area->moves_made != 0 && !has_other_root(*area) &&
         sluice::real_path(folder, path, out);
}

bool is_folder(int folder, const char* path) {
  struct stat found {};
  return stat_by(folder, path, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(found.st_mode);
}

bool is_same(int folder, const char* path, int other, const char* other_path) {
  struct stat one {};
  struct stat two {};
  return stat_by(folder, path, &one, AT_SYMLINK_NOFOLLOW) == 0 &&
         stat_by(other, other_path, &two, AT_SYMLINK_NOFOLLOW) == 0 && one.st_dev == two.st_dev &&
         one.st_ino == two.st_ino;
}

template <class Unlink>
int unlinked_below(int folder, const char* path, bool removes_folders, Unlink unlink) {
  const FolderHold hold(removes_folders ? sluice::this_area() : nullptr);
  if (is_keeping()) {
    if (removes_folders ? fails(put_down_all_in(folder, path)) : drop_name(folder, path)) {
      return removes_folders ? -1 : 0;
    }
    if (fails(settle(folder, path, false, 0))) {
      return -1;
    }
  }
  char whole[sizeof(AreaMove::path)];
  if (!may_change(folder, path, whole)) {
    return unlink();
  }
  Area& area = *sluice::this_area();
  Naming naming(area, whole);
  naming.intend(nullptr, move_at(area, whole), "");
  const int out = unlink();
  naming.end(out == 0);
  return out;
}

template <class Unlink>
int unlinked(int folder, const char* path, int flags, bool removes_folders, Unlink unlink) {
  const sluice::LastName name(folder, path);
  return name.removed(change_names(SLUICE_REMOVE, {folder, path}, {}, flags,
                                   [&] { return unlinked_below(folder, path, removes_folders, unlink); }));
}

// Whether it is there or below.
bool is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// A folder has another name: so have all files in it, and a file with which it changed places. REQUIRES: all
// names.
void rename_below(std::string_view from, std::string_view to, bool exchanged) {
  char path[sizeof(AreaMove::path)];
  for (AreaMove& move : sluice::this_area()->all_moves()) {
    const std::string_view before(move.path.data());
    const bool moved = is_below(before, from);
    if (!is_elsewhere(move) || !(moved || (exchanged && is_below(before, to)))) {
      continue;
    }
    const std::string_view above = moved ? to : from;
    const int length = std::snprintf(path, sizeof path, "%.*s%s", static_cast<int>(above.size()),
                                     above.data(), move.path.data() + (moved ? from : to).size());
    if (length > 0 && static_cast<std::size_t>(length) < sizeof path) {
      set_path(move, path);
    }
  }
}

// Whether these are names of one file, whose data has as many.
bool is_same_file(const AreaMove* one, const AreaMove* other) {
  struct stat first {};
  struct stat second {};
  return one != nullptr && other != nullptr && stat_by(AT_FDCWD, one->data.data(), &first, 0) == 0 &&
         stat_by(AT_FDCWD, other->data.data(), &second, 0) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

template <class Rename>
int renamed_below(int folder, const char* from, int other, const char* to, unsigned flags,
                  Rename rename_once) {
  const bool exchanged = (flags & RENAME_EXCHANGE) != 0;
  const bool moves_folder =
      may_keep_small() && (is_folder(folder, from) || (exchanged && is_folder(other, to)));
  const FolderHold removal(moves_folder ? sluice::this_area() : nullptr);
  if (is_keeping()) {
    int error = settle(folder, from, false, 0);
    if (const int second = settle(other, to, false, 0); exchanged && error == 0) {
      error = second;
    }
    if (fails(error)) {
      return -1;
    }
    // What is below it gets other paths. One with something in it is not replaced.
    if (const int full = moves_folder ? put_down_all_in(other, to) : 0;
        flags == 0 && !is_same(folder, from, other, to) && fails(full)) {
      return -1;
    }
  }
  const NameHold hold(other, exchanged ? nullptr : to, NameHold::Makes::anyway);
  if (((flags & RENAME_NOREPLACE) != 0 && hold.refuses(EEXIST)) || (moves_folder && hold.refuses(ENOTDIR))) {
    return -1;
  }
  const auto rename = [&] {
    const int out = rename_once();
    if (out == 0 && hold.is_taken()) {
      drop_name(other, to);  // this one has taken its place
    }
    return out;
  };
  char old_path[sizeof(AreaMove::path)];
  char new_path[sizeof(AreaMove::path)];
  if (!may_change(folder, from, old_path) || !may_change(other, to, new_path)) {
    return rename();
  }
  if (is_folder(AT_FDCWD, old_path) || (exchanged && is_folder(AT_FDCWD, new_path))) {
    const Naming all(*sluice::this_area());
    const int out = rename();
    if (out == 0) {
      rename_below(old_path, new_path, exchanged);
    }
    return out;
  }
  Area& area = *sluice::this_area();
  Naming naming(area, old_path, new_path);
  const AreaMove* moved = move_at(area, old_path);
  const AreaMove* replaced = move_at(area, new_path);
  const bool placed = moved != nullptr && is_placed(*moved) && replaced != nullptr && is_placed(*replaced);
  const unsigned known = placed ? RENAME_NOREPLACE : RENAME_NOREPLACE | RENAME_EXCHANGE;
  if ((moved != nullptr || replaced != nullptr) && (flags & ~known) != 0) {
    errno = EINVAL;  // as file systems do that cannot
    return -1;
  }
  if (flags == 0 && is_same_file(moved, replaced)) {
    if (std::string_view(from).ends_with('/') || std::string_view(to).ends_with('/')) {
      errno = ENOTDIR;
      return -1;
    }
    return 0;  // both names stay, as POSIX says
  }
  if (!exchanged) {
    naming.intend(moved, replaced, new_path);
  } else if (moved != nullptr) {
    naming.intend_exchange(*moved, replaced, new_path);
  } else if (replaced != nullptr) {
    naming.intend_exchange(*replaced, nullptr, old_path);
  }
  const int out = rename();
  naming.end(out == 0);
  return out;
}

bool is_there(int folder, const char* path) {
  const int saved = errno;
  struct stat found {};
  const bool out = path != nullptr && syscall(SYS_newfstatat, folder, path, &found, AT_SYMLINK_NOFOLLOW) == 0;
  errno = saved;
  return out;
}

template <class Rename>
int renamed(int folder, const char* from, int other, const char* to, unsigned flags, Rename rename) {
  // A file that takes the place of another one is whole by then: others may read it at once.
  if (sluice::is_parted() && is_there(other, to) && fails(sluice::make_native(folder, from))) [[unlikely]] {
    return -1;
  }
  const sluice::LastName replaced(other, to);
  const bool exchanged = (flags & RENAME_EXCHANGE) != 0;
  const int out = change_names(SLUICE_RENAME, {folder, from}, {other, to}, static_cast<int>(flags),
                               [&] { return renamed_below(folder, from, other, to, flags, rename); });
  return exchanged ? out : replaced.removed(out);
}

// Another name of a file that is elsewhere is another link, to another name of its data. False where that is
// not there any more.
template <class Link>
bool link_data(const FoundMove& first, int other, const char* to, Link link, int& out) {
  Area& area = *sluice::this_area();
  char whole[sizeof(AreaMove::path)] = "";
  out = -1;
  if (!sluice::real_path(other, to, whole)) {
    // It cannot be, or its path is longer than we can note: another name of our link is of no use.
    if (link() == 0) {
      syscall(SYS_unlinkat, other, to, 0);
      errno = EXDEV;
    }
    return true;
  }
  char data[sizeof(AreaMove::data)];
  const int length = std::snprintf(data, sizeof data, "%s-%lu", first.data.data(),
                                   static_cast<unsigned long>(area.moves_made.fetch_add(1)));
  // One that was placed has one name.
  AreaMove* second = !is_placed(*first.row) && length < static_cast<int>(sizeof data)
                         ? sluice::new_move(area, whole, data)
                         : nullptr;
  if (second == nullptr) {
    errno = EXDEV;
    return true;
  }
  second->flags = first.row->flags & AreaMove::synced;
  second->state.store(AreaMove::there);
  if (syscall(SYS_linkat, AT_FDCWD, first.data.data(), AT_FDCWD, data, 0) == 0 && link_to(area, *second)) {
    second->flags.fetch_or(AreaMove::linked | AreaMove::closed);
    out = 0;
    return true;
  }
  const int saved = errno;
  syscall(SYS_unlinkat, AT_FDCWD, data, 0);
  end_move(area, *second);
  errno = saved;
  return errno != ENOENT || first.is_still();
}

// The path of a file that is elsewhere and meant by its descriptor, or one of the kernel's names for that.
bool path_of_open(int folder, const char* path, char (&out)[sizeof(AreaMove::path)]) {
  char own[32];
  char data[sizeof(AreaMove::data)];
  std::snprintf(own, sizeof own, "/proc/self/fd/%d", folder);
  const long size =
      syscall(SYS_readlinkat, *path == 0 ? AT_FDCWD : folder, *path == 0 ? own : path, data, sizeof data);
  return size > 0 && sluice::preload::path_at({data, static_cast<std::size_t>(size)}, out);
}

template <class Link>
int linked_below(int folder, const char* from, int other, const char* to, int flags, Link link) {
  if (is_keeping() &&
      fails(
          settle_at(folder, from, (flags & AT_SYMLINK_FOLLOW) != 0 ? flags : flags | AT_SYMLINK_NOFOLLOW))) {
    return -1;
  }
  const NameHold hold(other, to, NameHold::Makes::anyway);
  if (hold.refuses(EEXIST)) {
    return -1;
  }
  const int saved = errno;
  int out = -1;
  const auto use = [&](const FoundMove& found) {
    errno = saved;
    return link_data(found, other, to, link, out);
  };
  const bool file = to != nullptr && !std::string_view(to).ends_with('/');
  if (file && use_data(folder, from, use)) {
    return out;
  }
  out = by_name(folder, (flags & AT_SYMLINK_FOLLOW) != 0 ? from : nullptr, link);
  char home[sizeof(AreaMove::path)];
  if (out != 0 && errno == EXDEV && file && (flags & (AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) != 0 &&
      path_of_open(folder, from, home)) {
    use_data(AT_FDCWD, home, use);
  }
  return out;
}

template <class Link>
int linked(int folder, const char* from, int other, const char* to, int flags, Link link) {
  return change_names(SLUICE_LINK, {folder, from}, {other, to}, flags,
                      [&] { return linked_below(folder, from, other, to, flags, link); });
}

}  // namespace

SLUICE_EXPORT int rename(const char* from, const char* to) noexcept {
  return renamed(AT_FDCWD, from, AT_FDCWD, to, 0, [&] { return SLUICE_NEXT(rename)(from, to); });
}
SLUICE_EXPORT int renameat(int folder, const char* from, int other, const char* to) noexcept {
  return renamed(folder, from, other, to, 0, [&] { return SLUICE_NEXT(renameat)(folder, from, other, to); });
}
SLUICE_EXPORT int renameat2(int folder, const char* from, int other, const char* to,
                            unsigned flags) noexcept {
  return renamed(folder, from, other, to, flags,
                 [&] { return SLUICE_NEXT(renameat2)(folder, from, other, to, flags); });
}
SLUICE_EXPORT int link(const char* from, const char* to) noexcept {
  return linked(AT_FDCWD, from, AT_FDCWD, to, 0, [&] { return SLUICE_NEXT(link)(from, to); });
}
SLUICE_EXPORT int linkat(int folder, const char* from, int other, const char* to, int flags) noexcept {
  return linked(folder, from, other, to, flags,
                [&] { return SLUICE_NEXT(linkat)(folder, from, other, to, flags); });
}
SLUICE_EXPORT int unlink(const char* path) noexcept {
  return unlinked(AT_FDCWD, path, 0, false, [&] { return SLUICE_NEXT(unlink)(path); });
}
SLUICE_EXPORT int unlinkat(int folder, const char* path, int flags) noexcept {
  return unlinked(folder, path, flags, (flags & AT_REMOVEDIR) != 0,
                  [&] { return SLUICE_NEXT(unlinkat)(folder, path, flags); });
}
SLUICE_EXPORT int remove(const char* path) noexcept {
  return unlinked(AT_FDCWD, path, 0, may_keep_small() && is_folder(AT_FDCWD, path),
                  [&] { return SLUICE_NEXT(remove)(path); });
}

#include "placing/spot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>

#include "base/files.h"
#include "base/text.h"
#include "base/trust.h"

namespace sluice {
namespace {

constexpr std::string_view own_prefix = "sluice-placed-";
constexpr int most_tries = 1000;         // to have a folder that others who are done remove
constexpr std::size_t hint_length = 60;  // of the folder's name that a box begins with

// Without following a link anywhere in it. A folder on the way may be one that this user cannot list.
UniqueFd open_plain(int folder, const char* path, unsigned access = O_PATH) {
  open_how how{};
  how.flags = access | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(static_cast<int>(syscall(SYS_openat2, folder, path, &how, sizeof how)));
}

bool is_ours(const struct stat& found) {
  return found.st_uid == geteuid();
}

// Whether nobody but root and this user can rename or replace what this user makes in it.
bool is_trusted(const struct stat& folder) {
  return (folder.st_uid == 0 || is_ours(folder)) &&
         ((folder.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (folder.st_mode & S_ISVTX) != 0);
}

Error not_trusted(const std::string& folder) {
  return fail(EPERM, fmt::format("others can replace what is in {}", quote(folder)))
      .advise("use a folder of yours in which only you can write, or set its sticky bit");
}

Error not_ours(const std::string& folder) {
  return fail(EPERM, fmt::format("folder {} belongs to another user", quote(folder)));
}

std::string in_folder(std::string_view folder, std::string_view name) {
  return fmt::format("{}/{}", folder == "/" ? "" : folder, name);
}

Result<std::string> resolve(const std::string& folder) {
  SLUICE_TRY(std::string found, follow_links(folder));
  struct stat about {};
  if (stat(found.c_str(), &about) == 0) {
    return found;
  }
  const Errno why;
  return errno == ENOENT
             ? why.fail(fmt::format("there is no folder {}", quote(folder))).advise("make it first")
             : why.fail(fmt::format("cannot look at folder {}", quote(folder)));
}

// What tells a folder from others: machine, kind and identity of the file system, inode, time of birth, and
// host. Not its device, which has another number after a reboot. Compiled programs write the same
// (fronts/compiler/stub/link.c).
std::string describe_folder(int folder) {
  const auto machine = read_file("/etc/machine-id");
  utsname host{};
  struct statfs filesystem {};
  struct statx about {};
  if (uname(&host) != 0 || fstatfs(folder, &filesystem) != 0 ||
      statx(folder, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &about) != 0) {
    return {};
  }
  const bool born = (about.stx_mask & STATX_BTIME) != 0 && about.stx_btime.tv_sec != 0;
  const std::string id(machine ? trim(*machine) : "");
  return fmt::format("{} {:x} {:x}-{:x} {} {} {}", id.empty() ? "-" : id, filesystem.f_type,
                     static_cast<unsigned>(filesystem.f_fsid.__val[0]),
                     static_cast<unsigned>(filesystem.f_fsid.__val[1]), about.stx_ino,
                     born ? fmt::format("{}.{:09}", about.stx_btime.tv_sec, about.stx_btime.tv_nsec) : "-",
                     static_cast<const char*>(host.nodename));
}

// Whatever was there before goes at once.
void put_mark(int box, std::string_view mark, const std::string& text) {
  const std::string name(mark);
  const std::string beside = name + ".new";
  unlinkat(box, beside.c_str(), 0);
  if (!text.empty() && symlinkat(text.c_str(), box, beside.c_str()) == 0) {
    renameat(box, beside.c_str(), box, name.c_str());
  }
}

void put_marks(int box, const std::string& path) {
  const auto folder = open_folder(folder_of(path), false);
  put_mark(box, box_mark, path);
  put_mark(box, folder_mark, folder ? describe_folder(folder->get()) : "");
}

// This user's folder on a place. Who removes the last box in it removes it, too, at any moment.
Result<UniqueFd> open_own(int place, const std::string& path) {
  for (int tries = 1;; ++tries) {
    if (mkdirat(place, own_name().c_str(), 0700) != 0 && errno != EEXIST) {
      return Errno().fail(fmt::format("cannot make folder {}", quote(path)));
    }
    // Somebody else may have made it, or a link in its place.
    auto own = open_folder(path, true);
    if (own || own.error().number != ENOENT || tries == most_tries) {
      return own ? std::move(own)
                 : std::move(own)
                       .error()
                       .within("this user's folder on the place")
                       .advise("remove what is there");
    }
  }
}

Result<std::vector<std::string>> names_in(int folder) {
  return list_folder(fmt::format("/proc/self/fd/{}", folder));
}

}  // namespace

Result<std::optional<struct stat>> Spot::look(const std::string& other) const {
  struct stat found {};
  if (fstatat(folder.get(), other.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0) {
    return std::optional(found);
  }
  if (errno == ENOENT) {
    return std::optional<struct stat>();
  }
  return Errno().fail(fmt::format("cannot look at {}", quote(folder_of(path) + "/" + other)));
}

Result<std::optional<struct stat>> Spot::look() const {
  return look(name);
}

bool Spot::links_to(const std::string& other, const std::string& target) const {
  std::string found(target.size() + 1, '\0');
  const ssize_t length = readlinkat(folder.get(), other.c_str(), found.data(), found.size());
  return length == static_cast<ssize_t>(target.size()) && found.starts_with(target);
}

bool Spot::links_to(const std::string& target) const {
  return links_to(name, target);
}

Status Spot::sync_folder() const {
  return fsync(folder.get()) == 0
             ? Status()
             : Errno().fail(fmt::format("cannot sync folder {}", quote(folder_of(path))));
}

Result<UniqueFd> open_folder(const std::string& path, bool of_ours) {
  UniqueFd folder = open_plain(AT_FDCWD, "/");
  std::string so_far;
  for (const std::string_view part : split(path, '/')) {
    struct stat above {};
    if (part.empty()) {
      continue;
    }
    if (!folder || fstat(folder.get(), &above) != 0) {
      break;
    }
    UniqueFd next = open_plain(folder.get(), std::string(part).c_str());
    struct stat found {};
    // In a folder where others may write, what is not ours or root's is in somebody's hands.
    const bool open_to_all = (above.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    if (next && fstat(next.get(), &found) == 0 && open_to_all && !is_trusted(above)) {
      return not_trusted(so_far.empty() ? "/" : so_far);
    }
    so_far += fmt::format("/{}", part);
    if (next && open_to_all && found.st_uid != 0 && !is_ours(found)) {
      return not_ours(so_far);
    }
    if (!next) {
      return Errno().fail(fmt::format("cannot open folder {}", quote(so_far)));
    }
    folder = std::move(next);
  }
  struct stat found {};
  folder = folder ? open_plain(folder.get(), ".", O_RDONLY) : UniqueFd();
  if (!folder || fstat(folder.get(), &found) != 0) {
    return Errno().fail(fmt::format("cannot open folder {}", quote(path)));
  }
  if (of_ours && !is_ours(found)) {
    return not_ours(path);
  }
  if (!is_trusted(found)) {
    return not_trusted(path);
  }
  return folder;
}

Result<Spot> open_spot(const std::string& typed) {
  const std::string whole = absolute(typed, current_folder());
  const std::string name = whole.substr(whole.rfind('/') + 1);
  if (name.empty()) {
    return bad_input("/ cannot be placed", "name a file or folder in it");
  }
  SLUICE_TRY(const std::string above, resolve(folder_of(whole)));
  const std::string path = in_folder(above, name);
  auto folder = open_folder(above, false);
  if (!folder) {
    return std::move(folder).error();
  }
  return Spot{.path = path, .folder = std::move(*folder), .name = name};
}

Result<Spot> open_target(const std::string& target) {
  SLUICE_TRY(UniqueFd folder, open_folder(folder_of(target), true));
  return Spot{.path = target, .folder = std::move(folder), .name = target.substr(target.rfind('/') + 1)};
}

std::string own_name() {
  return fmt::format("{}{}", own_prefix, geteuid());
}

bool is_in_own_folder(const std::string& path) {
  return path.find(fmt::format("/{}", own_prefix)) != std::string::npos;
}

Result<Box> choose_box(const Place& place, const std::string& path) {
  SLUICE_TRY(const std::string where, resolve(place.path));
  SLUICE_TRY(const UniqueFd folder, open_folder(where, false));
  Box out;
  out.path = in_folder(where, own_name());
  SLUICE_TRY(out.own, open_own(folder.get(), out.path));
  const std::string above = folder_of(path);
  const std::string hint = above.substr(above.rfind('/') + 1, hint_length);
  out.name = fmt::format("{}-{:08x}", hint.empty() ? "root" : hint, std::random_device{}());
  return out;
}

Result<UniqueFd> make_box(const Box& box, const std::string& path, bool wide) {
  UniqueFd own(fcntl(box.own.get(), F_DUPFD_CLOEXEC, 0));
  int done = mkdirat(own.get(), box.name.c_str(), 0700);
  for (int tries = 1; done != 0 && errno == ENOENT && tries < most_tries; ++tries) {
    SLUICE_TRY(const UniqueFd folder, open_folder(folder_of(box.path), false));
    SLUICE_TRY(own, open_own(folder.get(), box.path));
    done = mkdirat(own.get(), box.name.c_str(), 0700);
  }
  if (done != 0) {
    return Errno().fail(fmt::format("cannot make a folder in {}", quote(box.path)));
  }
  UniqueFd made(openat(own.get(), box.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!made || (wide && (fchmod(made.get(), 0711) != 0 || fchmod(own.get(), 0711) != 0))) {
    return Errno().fail(fmt::format("cannot open a folder in {}", quote(box.path)));
  }
  put_marks(made.get(), path);
  if (fsync(made.get()) != 0 || fsync(own.get()) != 0) {
    return Errno().fail(fmt::format("cannot sync folder {}", quote(box.path)));
  }
  return made;
}

void mark_box(const std::string& target, const std::string& path) {
  if (const auto inside = open_folder(folder_of(target), true)) {
    put_marks(inside->get(), path);
    fsync(inside->get());
  }
}

bool is_mark(std::string_view name) {
  for (const std::string_view mark : {box_mark, folder_mark}) {
    if (name == mark || (name.starts_with(mark) && name.substr(mark.size()) == ".new")) {
      return true;
    }
  }
  return false;
}

void remove_box(const std::string& target) {
  const std::string box = folder_of(target);
  const auto inside = open_folder(box, true);
  const auto own = open_folder(folder_of(box), true);
  if (!inside || !own) {
    return;
  }
  const auto names = names_in(inside->get());
  if (!names || !std::all_of(names->begin(), names->end(), is_mark)) {
    return;
  }
  for (const std::string& name : *names) {
    unlinkat(inside->get(), name.c_str(), 0);
  }
  fsync(inside->get());
  unlinkat(own->get(), box.substr(box.rfind('/') + 1).c_str(), AT_REMOVEDIR);
  fsync(own->get());
  const auto place = open_folder(folder_of(folder_of(box)), false);
  if (place && folder_of(box).ends_with("/" + own_name())) {
    unlinkat(place->get(), own_name().c_str(), AT_REMOVEDIR);  // only the last box leaves it empty
  }
}

std::optional<std::string> doubt_of(const std::string& target, const Spot& spot) {
  const auto box = open_folder(folder_of(target), true);
  const auto mark = box ? read_link(fmt::format("/proc/self/fd/{}/{}", box->get(), folder_mark))
                        : Result<std::string>(box.error());
  if (!mark) {
    return {};
  }
  constexpr std::size_t parts = 6;
  enum { machine, kind, filesystem, inode, birth, host };
  const std::string now = describe_folder(spot.folder.get());
  const auto then_is = split(*mark, ' ');
  const auto now_is = split(now, ' ');
  if (then_is.size() < parts || now_is.size() < parts) {
    return "it is not known which folder it was in";
  }
  if (then_is[machine] != now_is[machine] || then_is[host] != now_is[host]) {
    return fmt::format("it was placed on machine {}", quote(then_is[host]));
  }
  const bool born = then_is[birth] != "-" && now_is[birth] != "-";
  const bool same = then_is[kind] == now_is[kind] && then_is[inode] == now_is[inode] &&
                    then_is[born ? birth : filesystem] == now_is[born ? birth : filesystem];
  return same ? "" : fmt::format("{} is another folder than it was in", quote(folder_of(spot.path)));
}

Trace trace_link(const std::string& path, const std::string& target, const std::string& aside) {
  const auto spot = open_spot(path);
  if (!spot && spot.error().number == ENOENT) {
    return {.seen = "removed",
            .doubt = fmt::format("there is no folder {}", quote(folder_of(path))),
            .advice = ""};
  }
  if (!spot) {
    return {.seen = "", .doubt = spot.error().what, .advice = spot.error().advice};
  }
  if (spot->links_to(target)) {
    return {.seen = "there", .doubt = "", .advice = ""};
  }
  const auto names = names_in(spot->folder.get());
  const auto there = spot->look();
  if (!names || !there) {
    return {.seen = "", .doubt = names ? there.error().what : names.error().what, .advice = ""};
  }
  for (const std::string& name : *names) {
    if (name != aside && spot->links_to(name, target)) {
      return {.seen = fmt::format("renamed to {}", name), .doubt = "", .advice = ""};
    }
  }
  return {.seen = *there ? "replaced" : "removed",
          .doubt = doubt_of(target, *spot).value_or("it is not known which folder it was in"),
          .advice = ""};
}

}  // namespace sluice

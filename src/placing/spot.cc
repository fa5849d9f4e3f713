#include "placing/spot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <random>

#include "base/files.h"
#include "base/text.h"

namespace sluice {
namespace {

constexpr std::string_view own_prefix = "sluice-placed-";
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

std::string in_folder(std::string_view folder, std::string_view name) {
  return fmt::format("{}/{}", folder == "/" ? "" : folder, name);
}

Result<std::string> resolve(const std::string& folder) {
  const std::unique_ptr<char, decltype(&std::free)> found(realpath(folder.c_str(), nullptr), &std::free);
  if (found == nullptr) {
    const Errno why;
    return errno == ENOENT
               ? why.fail(fmt::format("there is no folder {}", quote(folder))).advise("make it first")
               : why.fail(fmt::format("cannot look at folder {}", quote(folder)));
  }
  return std::string(found.get());
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
    if (next && fstat(next.get(), &found) == 0 && open_to_all &&
        (!is_trusted(above) || (found.st_uid != 0 && !is_ours(found)))) {
      return not_trusted(so_far.empty() ? "/" : so_far);
    }
    so_far += fmt::format("/{}", part);
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
    return fail(EPERM, fmt::format("folder {} belongs to another user", quote(path)));
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
  if (mkdirat(folder.get(), own_name().c_str(), 0700) != 0 && errno != EEXIST) {
    return Errno().fail(fmt::format("cannot make folder {}", quote(out.path)));
  }
  // Somebody else may have made it, or a link in its place.
  auto own = open_folder(out.path, true);
  if (!own) {
    return std::move(own).error().within("this user's folder on the place").advise("remove what is there");
  }
  out.own = std::move(*own);
  const std::string above = folder_of(path);
  const std::string hint = above.substr(above.rfind('/') + 1, hint_length);
  out.name = fmt::format("{}-{:08x}", hint.empty() ? "root" : hint, std::random_device{}());
  return out;
}

Result<UniqueFd> make_box(const Box& box, const std::string& path, bool wide) {
  if (mkdirat(box.own.get(), box.name.c_str(), 0700) != 0) {
    return Errno().fail(fmt::format("cannot make a folder in {}", quote(box.path)));
  }
  UniqueFd made(openat(box.own.get(), box.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!made || (wide && (fchmod(made.get(), 0711) != 0 || fchmod(box.own.get(), 0711) != 0))) {
    return Errno().fail(fmt::format("cannot open a folder in {}", quote(box.path)));
  }
  symlinkat(path.c_str(), made.get(), std::string(box_mark).c_str());
  if (fsync(made.get()) != 0 || fsync(box.own.get()) != 0) {
    return Errno().fail(fmt::format("cannot sync folder {}", quote(box.path)));
  }
  return made;
}

void remove_box(const std::string& target) {
  const std::string box = folder_of(target);
  const auto inside = open_folder(box, true);
  const auto own = open_folder(folder_of(box), true);
  if (!inside || !own) {
    return;
  }
  const auto names = list_folder(fmt::format("/proc/self/fd/{}", inside->get()));
  if (names && names->size() == 1 && names->front() == box_mark) {
    unlinkat(inside->get(), std::string(box_mark).c_str(), 0);
  }
  fsync(inside->get());
  unlinkat(own->get(), box.substr(box.rfind('/') + 1).c_str(), AT_REMOVEDIR);
  fsync(own->get());
}

}  // namespace sluice

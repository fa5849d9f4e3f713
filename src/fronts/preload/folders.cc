// Calls that look for files by name or in a whole folder, and otherwise pass no stage: files that are in
// memory alone are put down first. As long as there are none, a look at a counter is all they cost.
#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "fronts/preload/elsewhere.h"
#include "fronts/preload/export.h"
#include "fronts/preload/file.h"
#include "fronts/preload/pending.h"
#include "pipeline/area.h"
#include "pipeline/process.h"

using sluice::AreaMove;
using sluice::FoundMove;
using sluice::is_memory;
using sluice::preload::at_data;
using sluice::preload::by_name;
using sluice::preload::change_names;
using sluice::preload::elsewhere;
using sluice::preload::fails;
using sluice::preload::is_keeping;
using sluice::preload::may_be_data;
using sluice::preload::may_keep;
using sluice::preload::NameHold;
using sluice::preload::path_at;
using sluice::preload::put_down_all;
using sluice::preload::put_down_all_in;
using sluice::preload::put_down_name;

#define SLUICE_NAMED(result, name, parameters, arguments, throwing, folder, path) \
  SLUICE_EXPORT result name parameters throwing {                                 \
    if (is_keeping() && fails(put_down_name(folder, path))) [[unlikely]] {        \
      return sluice::preload::failure<result>;                                    \
    }                                                                             \
    return by_name(folder, path, [&] { return SLUICE_NEXT(name) arguments; });    \
  }
// Where the name may be a link of ours that is not to be followed: `there` does it with `data`.
#define SLUICE_NAMED_ITSELF(result, name, parameters, arguments, folder, path, there, of_data) \
  SLUICE_EXPORT result name parameters noexcept {                                              \
    if (is_keeping() && fails(put_down_name(folder, path))) [[unlikely]] {                     \
      return sluice::preload::failure<result>;                                                 \
    }                                                                                          \
    return at_data(                                                                            \
        folder, path, [&](const char* data) { return SLUICE_NEXT(there) of_data; },            \
        [&] { return by_name(folder, path, [&] { return SLUICE_NEXT(name) arguments; }); });   \
  }
#define SLUICE_MAKES(result, name, parameters, arguments, throwing, folder, path) \
  SLUICE_EXPORT result name parameters throwing {                                 \
    const NameHold hold(folder, path, NameHold::Makes::anyway);                   \
    if (hold.refuses(EEXIST)) {                                                   \
      return -1;                                                                  \
    }                                                                             \
    return SLUICE_NEXT(name) arguments;                                           \
  }
#define SLUICE_WHOLE(result, name, parameters, arguments, throwing) \
  SLUICE_EXPORT result name parameters throwing {                   \
    if (is_keeping()) [[unlikely]] {                                \
      put_down_all();                                               \
    }                                                               \
    return SLUICE_NEXT(name) arguments;                             \
  }

// By name.
SLUICE_NAMED(int, access, (const char* path, int mode), (path, mode), noexcept, AT_FDCWD, path)
SLUICE_NAMED(int, eaccess, (const char* path, int mode), (path, mode), noexcept, AT_FDCWD, path)
SLUICE_NAMED(int, euidaccess, (const char* path, int mode), (path, mode), noexcept, AT_FDCWD, path)
SLUICE_NAMED_ITSELF(int, faccessat, (int folder, const char* path, int mode, int flags),
                    (folder, path, mode, flags), folder, path, faccessat,
                    (AT_FDCWD, data, mode, flags & ~AT_SYMLINK_NOFOLLOW))
SLUICE_NAMED(ssize_t, getxattr, (const char* path, const char* name, void* out, size_t size),
             (path, name, out, size), noexcept, AT_FDCWD, path)
SLUICE_NAMED_ITSELF(ssize_t, lgetxattr, (const char* path, const char* name, void* out, size_t size),
                    (path, name, out, size), AT_FDCWD, path, getxattr, (data, name, out, size))
SLUICE_NAMED(ssize_t, listxattr, (const char* path, char* out, size_t size), (path, out, size), noexcept,
             AT_FDCWD, path)
SLUICE_NAMED_ITSELF(ssize_t, llistxattr, (const char* path, char* out, size_t size), (path, out, size),
                    AT_FDCWD, path, listxattr, (data, out, size))
SLUICE_NAMED(int, statfs, (const char* path, struct statfs* out), (path, out), noexcept, AT_FDCWD, path)
SLUICE_NAMED(int, statfs64, (const char* path, struct statfs64* out), (path, out), noexcept, AT_FDCWD, path)
SLUICE_NAMED(int, statvfs, (const char* path, struct statvfs* out), (path, out), noexcept, AT_FDCWD, path)
SLUICE_NAMED(int, statvfs64, (const char* path, struct statvfs64* out), (path, out), noexcept, AT_FDCWD, path)
SLUICE_NAMED(long, pathconf, (const char* path, int name), (path, name), noexcept, AT_FDCWD, path)
SLUICE_NAMED_ITSELF(int, name_to_handle_at,
                    (int folder, const char* path, struct file_handle* out, int* mount, int flags),
                    (folder, path, out, mount, flags), folder, path, name_to_handle_at,
                    (AT_FDCWD, data, out, mount, flags))
SLUICE_NAMED(key_t, ftok, (const char* path, int number), (path, number), noexcept, AT_FDCWD, path)
SLUICE_NAMED(int, chdir, (const char* path), (path), noexcept, AT_FDCWD, path)
SLUICE_NAMED_ITSELF(int, inotify_add_watch, (int fd, const char* path, uint32_t mask), (fd, path, mask),
                    AT_FDCWD, path, inotify_add_watch, (fd, data, mask))

// Links. One of ours is none to the program, and where it leads nobody is to know: who goes there by itself
// changes what nobody brings home.
SLUICE_EXPORT ssize_t readlinkat(int folder, const char* path, char* out, size_t size) noexcept {
  if (is_keeping() && fails(put_down_name(folder, path))) [[unlikely]] {
    return -1;
  }
  const FoundMove own = elsewhere(folder, path);
  const ssize_t length = own && !is_placed(*own.row) ? 0 : by_name(folder, path, [&] {
    return SLUICE_NEXT(readlinkat)(folder, path, out, size);
  });
  if (length == 0) [[unlikely]] {
    errno = EINVAL;
    return -1;
  }
  // One of the kernel's names for descriptors, or a link that was made just now.
  char home[sizeof(AreaMove::path)];
  if (length < 0 || !path_at({out, static_cast<size_t>(length)}, home)) [[likely]] {
    return length;
  }
  char whole[sizeof(AreaMove::path)];
  if (sluice::real_path(folder, path, whole) && std::strcmp(whole, home) == 0) {
    errno = EINVAL;
    return -1;
  }
  return static_cast<ssize_t>(std::string_view(home).copy(out, size));
}
SLUICE_EXPORT ssize_t readlink(const char* path, char* out, size_t size) noexcept {
  return readlinkat(AT_FDCWD, path, out, size);
}
SLUICE_EXPORT char* realpath(const char* path, char* out) noexcept {
  if (is_keeping() && fails(put_down_name(AT_FDCWD, path))) [[unlikely]] {
    return nullptr;
  }
  char* found = nullptr;
  char home[sizeof(AreaMove::path)];
  bool ours = false;
  // It may come home in the middle.
  for (int i = 0; i < sluice::most_looks && (i == 0 || may_be_data(found)) && !ours; ++i) {
    if (out == nullptr) {
      free(found);
    }
    found = by_name(AT_FDCWD, path, [&] { return SLUICE_NEXT(realpath)(path, out); });
    ours = found != nullptr && path_at(found, home);
  }
  if (!ours) [[likely]] {
    return found;
  }
  if (out != nullptr) {
    return std::strcpy(out, home);
  }
  free(found);
  return strdup(home);
}
SLUICE_EXPORT char* canonicalize_file_name(const char* path) noexcept {
  return realpath(path, nullptr);
}
// Fortified.
SLUICE_EXPORT ssize_t __readlink_chk(const char* path, char* out, size_t size, size_t room) {
  if (size > room) {
    __chk_fail();
  }
  return readlink(path, out, size);
}
SLUICE_EXPORT ssize_t __readlinkat_chk(int folder, const char* path, char* out, size_t size, size_t room) {
  if (size > room) {
    __chk_fail();
  }
  return readlinkat(folder, path, out, size);
}
SLUICE_EXPORT char* __realpath_chk(const char* path, char* out, size_t room) {
  if (room < PATH_MAX) {
    __chk_fail();
  }
  return realpath(path, out);
}

// New names.
SLUICE_MAKES(int, mkfifo, (const char* path, mode_t mode), (path, mode), noexcept, AT_FDCWD, path)
SLUICE_MAKES(int, mkfifoat, (int folder, const char* path, mode_t mode), (folder, path, mode), noexcept,
             folder, path)
SLUICE_MAKES(int, mknod, (const char* path, mode_t mode, dev_t device), (path, mode, device), noexcept,
             AT_FDCWD, path)
SLUICE_MAKES(int, mknodat, (int folder, const char* path, mode_t mode, dev_t device),
             (folder, path, mode, device), noexcept, folder, path)
SLUICE_MAKES(int, symlink, (const char* to, const char* path), (to, path), noexcept, AT_FDCWD, path)
SLUICE_MAKES(int, symlinkat, (const char* to, int folder, const char* path), (to, folder, path), noexcept,
             folder, path)

// A whole folder, or more.
SLUICE_WHOLE(DIR*, opendir, (const char* path), (path), )
SLUICE_WHOLE(DIR*, fdopendir, (int fd), (fd), )
SLUICE_WHOLE(void, rewinddir, (DIR * folder), (folder), noexcept)
using Entries = dirent***;
using Keeps = int (*)(const dirent*);
using Compares = int (*)(const dirent**, const dirent**);

namespace {

// A link of ours is a file, here as for everybody who looks at it by its name.
void show_file(int folder, dirent* entry) {
  const sluice::Area* area = entry == nullptr || entry->d_type != DT_LNK ? nullptr : sluice::this_area();
  if (area == nullptr || area->moves == 0) [[likely]] {
    return;
  }
  const int saved = errno;
  struct stat found {};
  if (fstatat(folder, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(found.st_mode)) {
    entry->d_type = DT_REG;
  }
  errno = saved;
}

// What has a name just as long as it takes to put it into a link's place (move/home.cc):
// ".NAME.sluice-1234abcd".
bool is_arriving(const dirent& entry) {
  const sluice::Area* area = sluice::this_area();
  if (entry.d_name[0] != '.' || area == nullptr || area->moves == 0) [[likely]] {
    return false;
  }
  constexpr std::string_view mark = ".sluice-";
  constexpr std::size_t digits = 8;
  const std::string_view name = entry.d_name;
  return name.size() > 1 + mark.size() + digits &&
         name.substr(name.size() - digits - mark.size(), mark.size()) == mark &&
         name.find_first_not_of("0123456789abcdef", name.size() - digits) == std::string_view::npos;
}

// Of so many bytes of entries, those that are the program's; how many bytes they have.
ssize_t show_files(int folder, char* entries, ssize_t size) {
  ssize_t kept = 0;
  for (ssize_t at = 0; at < size;) {
    auto* entry = reinterpret_cast<dirent*>(entries + at);
    const auto length = static_cast<ssize_t>(entry->d_reclen);
    if (!is_arriving(*entry)) {
      show_file(folder, entry);
      std::memmove(entries + kept, entry, static_cast<std::size_t>(length));
      kept += length;
    }
    at += length;
  }
  return kept;
}

// Who asks for the entries of a folder, and which it wants.
struct Scan {
  int folder = -1;
  Keeps keeps = nullptr;
};
__attribute__((tls_model("initial-exec"))) thread_local constinit Scan scan;

int show_and_ask(const dirent* entry) {
  if (is_arriving(*entry)) {
    return 0;
  }
  show_file(scan.folder, const_cast<dirent*>(entry));
  return scan.keeps == nullptr ? 1 : scan.keeps(entry);
}

}  // namespace

SLUICE_EXPORT dirent* readdir(DIR* folder) {
  dirent* out = SLUICE_NEXT(readdir)(folder);
  while (out != nullptr && is_arriving(*out)) {
    out = SLUICE_NEXT(readdir)(folder);
  }
  show_file(dirfd(folder), out);
  return out;
}
SLUICE_ALIAS(dirent64*, readdir64, readdir, (DIR*));
SLUICE_EXPORT ssize_t getdents64(int fd, void* out, size_t size) noexcept {
  if (is_keeping()) [[unlikely]] {
    put_down_all();
  }
  ssize_t got = 0;
  ssize_t shown = 0;
  do {
    got = SLUICE_NEXT(getdents64)(fd, out, size);
    shown = got > 0 ? show_files(fd, static_cast<char*>(out), got) : got;
  } while (got > 0 && shown == 0);  // that would be the end
  return shown;
}
SLUICE_EXPORT int scandirat(int folder, const char* path, Entries out, Keeps keeps, Compares compares) {
  if (is_keeping()) [[unlikely]] {
    put_down_all();
  }
  const sluice::Area* area = sluice::this_area();
  if (area == nullptr || area->moves == 0) [[likely]] {
    return SLUICE_NEXT(scandirat)(folder, path, out, keeps, compares);
  }
  const Scan before = scan;
  const auto own = static_cast<int>(syscall(SYS_openat, folder, path, O_PATH | O_DIRECTORY | O_CLOEXEC));
  scan = {.folder = own, .keeps = keeps};
  const int count = SLUICE_NEXT(scandirat)(folder, path, out, show_and_ask, compares);
  const int saved = errno;
  scan = before;
  if (own >= 0) {
    syscall(SYS_close, own);
  }
  errno = saved;
  return count;
}
SLUICE_EXPORT int scandir(const char* path, Entries out, Keeps keeps, Compares compares) {
  return scandirat(AT_FDCWD, path, out, keeps, compares);
}
SLUICE_WHOLE(int, ftw, (const char* path, __ftw_func_t each, int descriptors), (path, each, descriptors), )
SLUICE_WHOLE(int, nftw, (const char* path, __nftw_func_t each, int descriptors, int flags),
             (path, each, descriptors, flags), )
SLUICE_WHOLE(FTS*, fts_open, (char* const* paths, int flags, int (*compares)(const FTSENT**, const FTSENT**)),
             (paths, flags, compares), )
SLUICE_WHOLE(int, glob, (const char* pattern, int flags, int (*failed)(const char*, int), glob_t* out),
             (pattern, flags, failed, out), )
SLUICE_ALIAS(int, scandir64, scandir,
             (const char*, dirent64***, int (*)(const dirent64*),
              int (*)(const dirent64**, const dirent64**)));
SLUICE_ALIAS(int, scandirat64, scandirat,
             (int, const char*, dirent64***, int (*)(const dirent64*),
              int (*)(const dirent64**, const dirent64**)));
SLUICE_ALIAS(int, ftw64, ftw, (const char*, __ftw64_func_t, int));
SLUICE_ALIAS(int, nftw64, nftw, (const char*, __nftw64_func_t, int, int));
SLUICE_ALIAS(int, glob64, glob, (const char*, int, int (*)(const char*, int), glob64_t*));

// A socket has a name, too.
SLUICE_EXPORT int bind(int fd, __CONST_SOCKADDR_ARG address, socklen_t size) noexcept {
  char path[sizeof(sockaddr_un::sun_path) + 1] = "";
  constexpr std::size_t before = offsetof(sockaddr_un, sun_path);
  if (is_keeping()) [[unlikely]] {
    put_down_all();
  }
  if (may_keep() && size > before && size <= sizeof(sockaddr_un) && is_memory(address, size) &&
      address->sa_family == AF_UNIX) {
    std::memcpy(path, reinterpret_cast<const char*>(address) + before, size - before);
  }
  const NameHold hold(AT_FDCWD, path[0] == 0 ? nullptr : path, NameHold::Makes::anyway);
  if (hold.refuses(EADDRINUSE)) {
    return -1;
  }
  return SLUICE_NEXT(bind)(fd, address, size);
}

// Folders.
SLUICE_EXPORT int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  const NameHold hold(folder, path, NameHold::Makes::anyway);
  if (hold.refuses(EEXIST)) {
    return -1;
  }
  return change_names(SLUICE_MAKE_FOLDER, {folder, path}, {}, 0,
                      [&] { return SLUICE_NEXT(mkdirat)(folder, path, mode); });
}
SLUICE_EXPORT int mkdir(const char* path, mode_t mode) noexcept {
  const NameHold hold(AT_FDCWD, path, NameHold::Makes::anyway);
  if (hold.refuses(EEXIST)) {
    return -1;
  }
  return change_names(SLUICE_MAKE_FOLDER, {AT_FDCWD, path}, {}, 0,
                      [&] { return SLUICE_NEXT(mkdir)(path, mode); });
}
SLUICE_EXPORT int rmdir(const char* path) noexcept {
  const sluice::FolderHold hold(sluice::this_area());
  if (is_keeping() && fails(put_down_all_in(AT_FDCWD, path))) [[unlikely]] {
    return -1;
  }
  return change_names(SLUICE_REMOVE, {AT_FDCWD, path}, {}, AT_REMOVEDIR,
                      [&] { return SLUICE_NEXT(rmdir)(path); });
}

// Paths begin elsewhere from now on: what is in memory has its own still.
SLUICE_EXPORT int chroot(const char* path) noexcept {
  put_down_all();
  return SLUICE_NEXT(chroot)(path);
}

// New files do not get these bits; the kernel tells them only to who changes them.
SLUICE_EXPORT mode_t umask(mode_t mask) noexcept {
  const mode_t out = SLUICE_NEXT(umask)(mask);
  sluice::set_umask(mask);
  return out;
}

// The limit for the size of files is looked up once, and what was written before it was lowered may be
// beyond.
static void settle_for_limit(int resource) {
  if (resource == RLIMIT_FSIZE && is_keeping()) {
    sluice::preload::settle_all(0);
  }
}

SLUICE_EXPORT int setrlimit(__rlimit_resource_t resource, const rlimit* limit) noexcept {
  settle_for_limit(resource);
  const int out = SLUICE_NEXT(setrlimit)(resource, limit);
  sluice::forget_file_limit();
  return out;
}
SLUICE_ALIAS(int, setrlimit64, setrlimit, (__rlimit_resource_t, const rlimit64*)) noexcept;
SLUICE_EXPORT int prlimit(pid_t process, __rlimit_resource resource, const rlimit* limit,
                          rlimit* before) noexcept {
  if (limit != nullptr) {
    settle_for_limit(resource);
  }
  const int out = SLUICE_NEXT(prlimit)(process, resource, limit, before);
  sluice::forget_file_limit();
  return out;
}
SLUICE_ALIAS(int, prlimit64, prlimit, (pid_t, __rlimit_resource, const rlimit64*, rlimit64*)) noexcept;

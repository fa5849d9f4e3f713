/* The check and the link of a place that was chosen when the program was compiled (IOSIG, figure 5).
 *
 * The data of /home/u/work/out.dat is PLACE/sluice-placed-UID/work-HASH/out.dat, and the links .sluice-path
 * and .sluice-folder beside it say where it belongs and which folder that is: as `sluice place` has it
 * (placing/spot.cc), so that `sluice status` can tell. The hash is of the whole path, and only who makes that
 * folder makes the link; everybody else opens the path as it is. So no two paths ever share a file, and all
 * who open one path at once do. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "fronts/compiler/stub/stub.h"

/* Bits of std::ios_base::openmode in libstdc++. */
enum { ios_app = 1, ios_in = 8, ios_out = 16, ios_trunc = 32 };

/* Whether the call makes the file when it is missing, and would follow a link to do so. */
static bool creates_through_link(int how, unsigned long argument) {
  const char* mode;
  switch (how) {
    case 1:
      return (argument & O_CREAT) != 0 &&
             (argument & (unsigned long)(O_EXCL | O_NOFOLLOW | O_DIRECTORY | O_PATH)) == 0;
    case 2:
      mode = (const char*)argument;
      return mode != NULL && (mode[0] == 'w' || mode[0] == 'a') && strchr(mode, 'x') == NULL;
    case 3:
      return (argument & (ios_app | ios_trunc)) != 0 || (argument & (ios_in | ios_out)) == ios_out;
    default:
      return true;
  }
}

static bool is_ours(const struct stat* about) {
  return about->st_uid == geteuid();
}

static bool is_open_to_others(const struct stat* about) {
  return (about->st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

/* Whether nobody but root and this user can rename or replace what this user makes in it. */
static bool is_trusted(const struct stat* folder) {
  return (folder->st_uid == 0 || is_ours(folder)) &&
         (!is_open_to_others(folder) || (folder->st_mode & S_ISVTX) != 0);
}

/* Opens a folder in another, which is closed; -1 where somebody else may have put it there. With `own` it is
 * made where it is missing, and is this user's alone. */
static int enter(int above, const char* name, bool own) {
  struct stat outer;
  struct stat inner;
  int folder = -1;
  bool good = above >= 0 && fstat(above, &outer) == 0;
  if (good && (own || is_open_to_others(&outer))) {
    good = is_trusted(&outer);
  }
  if (good && own) {
    (void)mkdirat(above, name, 0700);
  }
  if (good) {
    folder = openat(above, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  }
  good = folder >= 0 && fstat(folder, &inner) == 0;
  if (good && own) {
    good = is_ours(&inner) && !is_open_to_others(&inner);
  } else if (good && is_open_to_others(&outer)) {
    good = inner.st_uid == 0 || is_ours(&inner);
  }
  if (above >= 0) {
    (void)close(above);
  }
  if (!good && folder >= 0) {
    (void)close(folder);
  }
  return good ? folder : -1;
}

/* This user's folder in a place, whose path, the first bytes of one, is without links; none is followed that
 * came meanwhile. */
static int open_own(char* place, size_t length, const char* name) {
  char* part = place;
  int folder = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  while (part < place + length) {
    char* end = part + 1 + strcspn(part + 1, "/");
    const char kept = *end;
    *end = '\0';
    folder = enter(folder, part + 1, false);
    *end = kept;
    part = end;
  }
  return enter(folder, name, true);
}

/* A folder's path without links; that of the root is empty. */
static bool resolve(const char* folder, char* out, dev_t* device) {
  struct stat about;
  if (realpath(folder, out) == NULL || stat(out, &about) != 0) {
    return false;
  }
  *device = about.st_dev;
  if (strcmp(out, "/") == 0) {
    out[0] = '\0';
  }
  return true;
}

static bool append(char* path, const char* name) {
  const size_t length = strlen(path);
  const size_t room = PATH_MAX - length;
  return (size_t)snprintf(path + length, room, "/%s", name) < room;
}

static bool is_below(const char* path, const char* folder) {
  const size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static uint64_t hash_of(const char* text) { /* FNV-1a */
  uint64_t out = 0xcbf29ce484222325U;
  for (; *text != '\0'; ++text) {
    out = (out ^ (unsigned char)*text) * 0x100000001b3U;
  }
  return out;
}

/* Apart, so that its room is not taken while paths are resolved: threads may have small stacks. */
static __attribute__((noinline)) bool is_link_to(const char* path, const char* target) {
  char found[PATH_MAX];
  const ssize_t length = readlink(path, found, sizeof found);
  return length >= 0 && (size_t)length == strlen(target) && memcmp(found, target, (size_t)length) == 0;
}

struct spot {
  char path[PATH_MAX]; /* without links above the name */
  char target[PATH_MAX];
  size_t place; /* so many bytes of the target are the place's path */
  char own[40]; /* the name of this user's folder in the place */
  char box[80]; /* that of the path's folder in it */
  char mark[100];
  char folder_mark[100];
};

/* What tells the folder of a path from others, in the words of describe_folder() in placing/spot.cc; "" where
 * that cannot be told. Apart, as above. */
static __attribute__((noinline)) void describe_folder(const char* path, char* out, size_t size) {
  char text[PATH_MAX];
  char machine[40] = "-";
  char born[40] = "-";
  const char* name = strrchr(path, '/');
  const int id = open("/etc/machine-id", O_RDONLY | O_CLOEXEC);
  struct utsname host;
  struct statfs filesystem;
  struct statx about;
  out[0] = '\0';
  if (id >= 0) {
    char found[40] = {0};
    if (read(id, found, sizeof found - 1) > 0 && strcspn(found, " \n") > 0) {
      (void)snprintf(machine, sizeof machine, "%.*s", (int)strcspn(found, " \n"), found);
    }
    (void)close(id);
  }
  (void)snprintf(text, sizeof text, "%.*s/", (int)(name - path), path);
  if (uname(&host) != 0 || statfs(text, &filesystem) != 0 ||
      statx(AT_FDCWD, text, 0, STATX_INO | STATX_BTIME, &about) != 0) {
    return;
  }
  if ((about.stx_mask & STATX_BTIME) != 0 && about.stx_btime.tv_sec != 0) {
    (void)snprintf(born, sizeof born, "%lld.%09u", (long long)about.stx_btime.tv_sec,
                   about.stx_btime.tv_nsec);
  }
  (void)snprintf(out, size, "%s %lx %x-%x %llu %s %s", machine, (unsigned long)filesystem.f_type,
                 (unsigned)filesystem.f_fsid.__val[0], (unsigned)filesystem.f_fsid.__val[1],
                 (unsigned long long)about.stx_ino, born, host.nodename);
}

/* False where there is nothing to do for the path: it is on the place already, or has no name. */
static bool find_spot(const char* path, const char* place, struct spot* out) {
  const char* slash = strrchr(path, '/');
  const char* name = slash != NULL ? slash + 1 : path;
  const char* above;
  dev_t here;
  dev_t there;
  if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
    return false;
  }
  if (snprintf(out->target, PATH_MAX, "%.*s.", (int)(name - path), path) >= PATH_MAX ||
      !resolve(out->target, out->path, &here) || !resolve(place, out->target, &there) ||
      (here == there && is_below(out->path, out->target))) {
    return false;
  }
  out->place = strlen(out->target);
  above = strrchr(out->path, '/');
  (void)snprintf(out->own, sizeof out->own, "sluice-placed-%lu", (unsigned long)geteuid());
  (void)snprintf(out->box, sizeof out->box, "%.60s", above != NULL ? above + 1 : "root");
  if (!append(out->path, name)) {
    return false;
  }
  (void)snprintf(out->box + strlen(out->box), sizeof out->box - strlen(out->box), "-%016llx",
                 (unsigned long long)hash_of(out->path));
  (void)snprintf(out->mark, sizeof out->mark, "%s/.sluice-path", out->box);
  (void)snprintf(out->folder_mark, sizeof out->folder_mark, "%s/.sluice-folder", out->box);
  return append(out->target, out->own) && append(out->target, out->box) && append(out->target, name);
}

/* Beside the data, for `sluice status`. */
static bool put_marks(const struct spot* spot, int own) {
  char folder[512];
  describe_folder(spot->path, folder, sizeof folder);
  return symlinkat(spot->path, own, spot->mark) == 0 &&
         (folder[0] == '\0' || symlinkat(folder, own, spot->folder_mark) == 0);
}

/* Killed anywhere in it, an empty folder is left at most, and its path is opened as written from then on. */
static void make_link(const char* path, const char* place) {
  struct spot spot;
  struct stat about;
  const bool linked = lstat(path, &about) == 0;
  bool made;
  int own;
  if (linked ? !S_ISLNK(about.st_mode) : errno != ENOENT) {
    return;
  }
  if (!find_spot(path, place, &spot) || (linked && !is_link_to(spot.path, spot.target))) {
    return;
  }
  own = open_own(spot.target, spot.place, spot.own);
  if (own < 0) {
    return;
  }
  made = mkdirat(own, spot.box, 0700) == 0;
  if (linked) { /* by us; the folder may have gone with what is on the place, as by a reboot */
    (void)put_marks(&spot, own);
  } else if (made && (!put_marks(&spot, own) || symlink(spot.target, spot.path) != 0)) {
    (void)unlinkat(own, spot.mark, 0);
    (void)unlinkat(own, spot.folder_mark, 0);
    (void)unlinkat(own, spot.box, AT_REMOVEDIR);
  }
  (void)close(own);
}

const char* sluice_stub_link(const char* path, const char* place, int how, unsigned long argument) {
  const int number = errno;
  if (path != NULL && creates_through_link(how, argument)) {
    make_link(path, place);
  }
  errno = number;
  return path;
}

const char* sluice_stub_linkat(int folder, const char* path, const char* place, int how,
                               unsigned long argument) {
  if (path == NULL || (folder != AT_FDCWD && path[0] != '/')) {
    return path;
  }
  return sluice_stub_link(path, place, how, argument);
}

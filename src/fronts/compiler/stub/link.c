/* The check and the link of a place that was chosen when the program was compiled (IOSIG, figure 5). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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

/* Where others may put files and links, ours go into a folder that is ours alone. */
static bool find_folder(const char* place, char* out, size_t size) {
  struct stat about;
  int length = snprintf(out, size, "%s", place);
  if (length < 0 || (size_t)length >= size || stat(place, &about) != 0 || !S_ISDIR(about.st_mode)) {
    return false;
  }
  if ((about.st_mode & S_IWOTH) == 0) {
    return true;
  }
  length = snprintf(out, size, "%s/sluice-%lu", place, (unsigned long)geteuid());
  if (length < 0 || (size_t)length >= size || (mkdir(out, 0700) != 0 && errno != EEXIST)) {
    return false;
  }
  return lstat(out, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
         (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* A file of that name which is there already may be another path's: it is never taken over. */
static void make_link(const char* path, const char* place) {
  char target[PATH_MAX];
  struct stat about;
  const char* slash = strrchr(path, '/');
  const char* name = slash != NULL ? slash + 1 : path;
  size_t length;
  if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
    return;
  }
  if (lstat(path, &about) == 0 || errno != ENOENT || !find_folder(place, target, sizeof target)) {
    return;
  }
  length = strlen(target);
  if ((size_t)snprintf(target + length, sizeof target - length, "/%s", name) >= sizeof target - length) {
    return;
  }
  if (lstat(target, &about) != 0 && errno == ENOENT) {
    (void)!symlink(target, path);
  }
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

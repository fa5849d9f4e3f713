// build: -O1
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
// make FOLDER COUNT: files 0, 1, ..., then what the third word says.
int main(int count, char** words) {
  char path[4096];
  umask(027);
  const int lowest = dup(0);
  close(lowest);
  for (int i = 0; i < atoi(words[2]); ++i) {
    snprintf(path, sizeof path, "%s/%d", words[1], i);
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL, i % 2 ? 0666 : 0700);
    if (fd != lowest) return 10;  // the lowest that is free, as ever
    if (flock(fd, LOCK_EX) != 0) return 11;
    for (int j = 0; j <= i % 5; ++j) {
      if (pwrite(fd, path, strlen(path), j * 1000) != (ssize_t)strlen(path)) return 12;
    }
    char back[16] = "";
    if (pread(fd, back, 5, 0) != 5 || memcmp(back, path, 5) != 0) return 13;
    if (flock(fd, LOCK_UN) != 0 || close(fd) != 0) return 14;
  }
  if (count > 3 && strcmp(words[3], "again") == 0) {
    snprintf(path, sizeof path, "%s/7", words[1]);
    if (open(path, O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0 || errno != EEXIST) return 20;
    if (unlink(path) != 0 || access(path, F_OK) == 0) return 21;
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || write(fd, "second", 6) != 6 || close(fd) != 0) return 22;
    closefrom(3);
    char other[4096];
    snprintf(other, sizeof other, "%s/moved", words[1]);
    snprintf(path, sizeof path, "%s/8", words[1]);
    if (rename(path, other) != 0 || rename(path, other) == 0) return 23;
    if (open(path, O_WRONLY | O_CREAT, 0600) < 3) return 24;  // and is left open
  }
  if (count > 3 && strcmp(words[3], "wait") == 0) {
    write(1, "made\n", 5);
    getchar();
  }
  return 0;
}

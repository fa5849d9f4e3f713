// build: -O1 -pthread
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
enum { threads = 4, times = 1000 };
static volatile int current = -1, bad = 0;
static int use(int way, const char* path) {
  struct stat found;
  char text[4096];
  FILE* stream;
  int fd;
  switch (way) {
    case 0:
      return access(path, R_OK);
    case 1:
      return stat(path, &found);
    case 2:
      return truncate(path, 3);
    case 3:
      return chmod(path, 0640);
    case 4:
      return utimensat(AT_FDCWD, path, NULL, 0);
    case 5:
      return realpath(path, text) == NULL ? -1 : 0;
    case 6:
      return (fd = open(path, O_WRONLY | O_APPEND)) < 0 ? -1 : close(fd);
    case 7:
      return (fd = open(path, O_WRONLY | O_CREAT, 0600)) < 0 ? -1 : close(fd);
    case 8:
      return (fd = open(path, O_RDONLY)) < 0 ? -1 : close(fd);
    case 9:
      return (stream = fopen(path, "r+")) == NULL ? -1 : fclose(stream);
    default:
      return getxattr(path, "user.none", text, 10) < 0 && errno != ENOENT && errno != ELOOP ? 0 : -1;
  }
}
static void* look(void* seed) {
  unsigned random = (unsigned)(long)seed;
  char path[32];
  for (int n; (n = current) != -2;) {
    if (n < 0) continue;
    const int way = rand_r(&random) % 11;
    snprintf(path, sizeof path, "%s%d", rand_r(&random) % 2 ? "file" : "link", n);
    if (use(way, path) != 0) {
      fprintf(stderr, "way %d, %s: %s\n", way, path, strerror(errno));
      bad = 1;
    }
  }
  return NULL;
}
int main(void) {
  pthread_t all[threads];
  char path[32], link[32];
  for (long i = 0; i < threads; ++i) pthread_create(&all[i], NULL, look, (void*)i);
  for (int i = 0; i < times; ++i) {
    snprintf(path, sizeof path, "file%d", i);
    snprintf(link, sizeof link, "link%d", i);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || write(fd, "text", 4) != 4 || symlink(path, link) != 0) return 1;
    current = i;
    if (close(fd) != 0) return 2;
    usleep(1500);
  }
  current = -2;
  for (int i = 0; i < threads; ++i) pthread_join(all[i], NULL);
  return bad ? 3 : 0;
}

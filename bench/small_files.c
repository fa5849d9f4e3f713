/* Many files, each opened, locked, written once and closed, as MACSio does: small_files FOLDER COUNT SIZE.
 * Prints seconds. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int count, char** words) {
  if (count != 4) {
    return 2;
  }
  const int files = atoi(words[2]);
  const size_t size = (size_t)atoi(words[3]);
  char* data = malloc(size);
  memset(data, 'x', size);
  char path[4096];
  const double begin = now();
  for (int i = 0; i < files; ++i) {
    snprintf(path, sizeof path, "%s/dump-%06d", words[1], i);
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || flock(fd, LOCK_EX) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size ||
        flock(fd, LOCK_UN) != 0 || close(fd) != 0) {
      perror(path);
      return 1;
    }
  }
  printf("%.6f\n", now() - begin);
  free(data);
  return 0;
}

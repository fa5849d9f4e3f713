/* Dumps as MACSio makes them: dumps_bench FOLDER FILES SIZE, each file opened, locked, written once and
 * closed. Prints seconds from the first open to the last close. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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
  const size_t size = (size_t)atoi(words[3]);
  char* data = calloc(1, size);
  char path[4096];
  const double begin = now();
  for (int i = 0; i < atoi(words[2]); ++i) {
    snprintf(path, sizeof path, "%s/dump-%06d", words[1], i);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
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

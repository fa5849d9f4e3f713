/* Nanoseconds a call of write, read and lseek on one file, as often as asked for: intercept_bench FILE SIZE
 * CALLS [SPAN]. Writes and reads begin anew at the front of the file when SPAN bytes are done; without it,
 * each time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static off_t next(off_t at, size_t size, off_t span) {
  return at + (off_t)size < span ? at + (off_t)size : 0;
}

int main(int count, char** words) {
  if (count != 4 && count != 5) {
    fprintf(stderr, "intercept_bench FILE SIZE CALLS [SPAN]\n");
    return 2;
  }
  const size_t size = strtoul(words[2], NULL, 10);
  const long calls = strtol(words[3], NULL, 10);
  const off_t span = count == 5 ? strtol(words[4], NULL, 10) : 0;
  char* data = aligned_alloc(4096, (size + 4095) / 4096 * 4096); /* where it lies matters more than we do */
  int fd = open(words[1], O_RDWR | O_CREAT, 0600);
  if (data != NULL) memset(data, 1, size);
  if (data == NULL || fd < 0 || pwrite(fd, data, size, 0) != (ssize_t)size) {
    perror(words[1]);
    return 1;
  }
  off_t at = 0;
  double began = now();
  for (long i = 0; i < calls; ++i) {
    if (pwrite(fd, data, size, at) != (ssize_t)size) return 1;
    at = next(at, size, span);
  }
  const double writing = now() - began;
  close(fd); /* FUSE forgets what it has in memory of a file when that is opened */
  fd = open(words[1], O_RDWR);
  at = 0;
  began = now();
  for (long i = 0; i < calls; ++i) {
    if (pread(fd, data, size, at) != (ssize_t)size) return 1;
    at = next(at, size, span);
  }
  const double reading = now() - began;
  began = now();
  for (long i = 0; i < calls; ++i) {
    if (lseek(fd, 0, SEEK_SET) != 0) return 1;
  }
  const double seeking = now() - began;
  printf("%.3f %.3f %.3f\n", writing / (double)calls, reading / (double)calls, seeking / (double)calls);
  close(fd);
  free(data);
  return 0;
}

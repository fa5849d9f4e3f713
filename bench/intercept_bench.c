/* Nanoseconds a call of read, write and lseek on one file, as often as asked for: intercept_bench FILE SIZE
 * CALLS. */
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

int main(int count, char** words) {
  if (count != 4) {
    fprintf(stderr, "intercept_bench FILE SIZE CALLS\n");
    return 2;
  }
  const size_t size = strtoul(words[2], NULL, 10);
  const long calls = strtol(words[3], NULL, 10);
  char* data = aligned_alloc(4096, (size + 4095) / 4096 * 4096); /* where it lies matters more than we do */
  const int fd = open(words[1], O_RDWR | O_CREAT, 0600);
  if (data != NULL) memset(data, 1, size);
  if (data == NULL || fd < 0 || pwrite(fd, data, size, 0) != (ssize_t)size) {
    perror(words[1]);
    return 1;
  }
  double began = now();
  for (long i = 0; i < calls; ++i) {
    if (pwrite(fd, data, size, 0) != (ssize_t)size) return 1;
  }
  const double writing = now() - began;
  began = now();
  for (long i = 0; i < calls; ++i) {
    if (pread(fd, data, size, 0) != (ssize_t)size) return 1;
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

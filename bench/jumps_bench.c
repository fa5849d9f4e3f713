/* Writes blocks of a file in random order and syncs it: jumps_bench FILE BLOCK BLOCKS. Prints seconds. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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
  const size_t block = (size_t)atoi(words[2]);
  const int blocks = atoi(words[3]);
  void* data = NULL;
  if (posix_memalign(&data, 4096, block) != 0) {
    return 1;
  }
  int* order = calloc((size_t)blocks, sizeof *order);
  srand(7);
  for (int i = 0; i < blocks; ++i) {
    const int other = rand() % (i + 1);
    order[i] = order[other];
    order[other] = i;
  }
  const int fd = open(words[1], O_RDWR | O_DIRECT);
  if (fd < 0) {
    perror(words[1]);
    return 1;
  }
  const double begin = now();
  for (int i = 0; i < blocks; ++i) {
    if (pwrite(fd, data, block, (off_t)order[i] * (off_t)block) != (ssize_t)block) {
      perror("pwrite");
      return 1;
    }
  }
  if (fsync(fd) != 0) {
    return 1;
  }
  printf("%.6f\n", now() - begin);
  return close(fd);
}

/* Reads a file: reads_bench FILE SIZE STRIDE COUNT. So many requests of SIZE, STRIDE from one to the next; by
 * the file's position where they follow each other. Prints seconds. */
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
  if (count != 5) {
    return 2;
  }
  const size_t size = strtoul(words[2], NULL, 10);
  const off_t stride = strtol(words[3], NULL, 10);
  const long requests = strtol(words[4], NULL, 10);
  char* data = malloc(size);
  const int fd = open(words[1], O_RDONLY);
  if (data == NULL || fd < 0) {
    perror(words[1]);
    return 1;
  }
  const double begin = now();
  for (long i = 0; i < requests; ++i) {
    const ssize_t done = stride == (off_t)size ? read(fd, data, size) : pread(fd, data, size, i * stride);
    if (done != (ssize_t)size) {
      perror("read");
      return 1;
    }
  }
  printf("%.6f\n", now() - begin);
  free(data);
  return close(fd);
}

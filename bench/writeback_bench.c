/* Times small writes: writeback_bench FILE SIZE CALLS position|offset new|over [EVERY]. With an fsync after
 * EVERY of them. Prints nanoseconds a call. */
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

static double once(const char* path, size_t size, int calls, int by_offset, int fresh, int every) {
  char* data = malloc(size);
  memset(data, 'x', size);
  const int fd = open(path, O_RDWR | O_CREAT | (fresh ? O_TRUNC : 0), 0600);
  if (fd < 0) {
    perror(path);
    exit(1);
  }
  const double begin = now();
  for (int i = 0; i < calls; ++i) {
    const ssize_t done = by_offset ? pwrite(fd, data, size, (off_t)i * (off_t)size) : write(fd, data, size);
    if (done != (ssize_t)size) {
      perror("write");
      exit(1);
    }
    if (every > 0 && (i + 1) % every == 0 && fsync(fd) != 0) {
      perror("fsync");
      exit(1);
    }
  }
  close(fd); /* what was kept back is in the file now */
  const double out = (now() - begin) / calls;
  free(data);
  return out;
}

int main(int count, char** words) {
  if (count != 6 && count != 7) {
    return 2;
  }
  const size_t size = (size_t)atoi(words[2]);
  const int calls = atoi(words[3]);
  const int by_offset = strcmp(words[4], "offset") == 0;
  const int fresh = strcmp(words[5], "new") == 0;
  const int every = count == 7 ? atoi(words[6]) : 0;
  if (!fresh) {
    once(words[1], size, calls, by_offset, 1, 0);
  }
  printf("%.2f\n", once(words[1], size, calls, by_offset, fresh, every));
  return 0;
}

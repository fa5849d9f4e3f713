/* runtime_bench PATH WORDS: what a decision of the runtime library costs, the first in a process and each of
 * many after it, in microseconds: "FIRST LATER". The path does not exist and lies where the words would put
 * it, so that nothing is placed. */
#include <fcntl.h>
#include <sluice/sluice.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return x < y ? -1 : x > y;
}

int main(int count, char** words) {
  enum { times = 2001 };
  static double taken[times];
  if (count != 3) {
    return 2;
  }
  for (int i = 0; i < times; ++i) {
    const double begin = now();
    const char* path = sluice_path(words[1], words[2], 1, O_WRONLY | O_CREAT);
    taken[i] = now() - begin;
    if (path != words[1]) {
      fprintf(stderr, "runtime_bench: it was placed at %s\n", path);
      return 1;
    }
  }
  const double first = taken[0];
  qsort(taken + 1, times - 1, sizeof *taken, compare);
  printf("%.3f %.3f\n", first, taken[1 + (times - 1) / 2]);
  return 0;
}

/* A simulation as many are: every time step it appends its cells to one file, a record each, and flushes the
 * file so that a crash costs no more than a step. It says nothing of its I/O, and nobody has tuned it.
 *
 *     steps FILE [STEPS [CELLS]]
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cell {
  long step;
  long number;
  double values[62];
};

static void compute(struct cell* cell) {
  for (int i = 0; i < 62; ++i) {
    cell->values[i] = sin((double)cell->step * 0.01 + (double)cell->number * 0.1 + i);
  }
}

static int fail(const char* what, const char* file) {
  fprintf(stderr, "steps: cannot %s %s: %s\n", what, file, strerror(errno));
  return 1;
}

int main(int count, char** words) {
  if (count < 2) {
    fprintf(stderr, "usage: steps FILE [STEPS [CELLS]]\n");
    return 2;
  }
  const char* file = words[1];
  const long steps = count > 2 ? atol(words[2]) : 100;
  const long cells = count > 3 ? atol(words[3]) : 64;
  const int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) {
    return fail("make", file);
  }
  for (long step = 0; step < steps; ++step) {
    for (long number = 0; number < cells; ++number) {
      struct cell cell = {.step = step, .number = number};
      compute(&cell);
      if (write(fd, &cell, sizeof cell) != (ssize_t)sizeof cell) {
        return fail("write to", file);
      }
    }
    if (fsync(fd) != 0) {
      return fail("flush", file);
    }
  }
  if (close(fd) != 0) {
    return fail("close", file);
  }
  printf("%ld steps of %ld cells in %s\n", steps, cells, file);
  return 0;
}

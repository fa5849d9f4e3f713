// Every opener of libc, and the ways in which a pragma can stand before one. Each file is made by one call.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "signatures.inc"

#define MAKE O_RDWR | O_CREAT
#define OPEN_RANDOM(file, path)                               \
  do {                                                        \
    _Pragma("sig random read") file = open(path, MAKE, 0600); \
  } while (0)
#define WITH_SYNC _Pragma("sig sync")
#define TWO(a, b)                                            \
  _Pragma("sig group(first)") a = open("two-1", MAKE, 0600); \
  _Pragma("sig group(second)") b = open("two-2", MAKE, 0600)
#define CHECKED(call) ((call) < 0 ? (perror(#call), exit(1)) : (void)0)

static int my_open(const char* path) {
  return open(path, MAKE, 0600);
}

static void checked(const void* file) {
  if (file == NULL) exit(2);
}

int main(void) {
  int fd = -1, other = -1;
  FILE* file = NULL;
  // Before all of them: what no pragma is about stays where it is.
  CHECKED(my_open("plain"));
  errno = ENOTTY;
#pragma sig checkpoint
  fd = open("open", O_WRONLY | O_CREAT, 0600);
  if (errno != ENOTTY) return 3;
#pragma sig checkpoint sequential
  CHECKED(fd = open64("open64", MAKE, 0600));
#pragma sig also MTTDL = 30y
  fd = creat("creat", 0600);
#pragma sig also write
  other = creat64("creat64", 0600);
#pragma sig persist, write sequential
  file = fopen("fopen", "w");
  checked(file);
#pragma sig LOCAL
  if ((file = freopen("freopen", "w", file)) == NULL) {
    return 4;
  }
#pragma sig strided(4K)
  checked(file = fopen64("fopen64", "a+"));
#pragma sig temp
  checked(file = freopen64("freopen64", "w", file));
#pragma sig stream(a / b - c : d, write - intensive)
  CHECKED(fd = openat(AT_FDCWD, "openat", MAKE, 0600));
#pragma sig priority(background, 10m)
  CHECKED(fd = openat64(AT_FDCWD, "openat64", MAKE, 0600));
  int folder = open(".", O_RDONLY | O_DIRECTORY);
#pragma sig reuse(often)
  CHECKED(fd = openat(folder, "openat-in-folder", MAKE, 0600));
  // clang-format off
  OPEN_RANDOM(fd,
              "macro");
  // clang-format on
  WITH_SYNC fd = open("macro-before", MAKE, 0600);
  _Pragma("sig sync, prefetch") fd = open("operator", MAKE, 0600);
  TWO(fd, other);
#pragma sig global
  fd =
#ifdef NEVER
      creat("never", 0);
#else
      open("condition", MAKE, 0600);
#endif
  for (int i = 0; i < 2; ++i) {
#pragma sig shape(8, 8) procs(2, 2) partition(block, *) stored(*, block)
#pragma GCC unroll 2
    for (int j = 0; j < 1; ++j) fd = open(i == 0 ? "loop-0" : "loop-1", MAKE, 0600);
  }
  switch (other >= 0) {
#pragma sig availability(0.001, 1h)
    case 1:
      fd = open("case", MAKE, 0600);
  }
#pragma sig size - per - IO(4K)  // a comment
  /* and ; another { */ fd = open("comment;{", MAKE, 0600);
  checked(fopen("header.moved", "w"));
  checked(open_in_header("header"));
#pragma omp parallel num_threads(1)
  {
#pragma sig random
    fd = open("parallel", MAKE, 0600);
  }
  FILE* again = fopen("unnamed", "w");
#pragma sig read
  again = freopen(NULL, "a", again);
  checked(again);
  CHECKED(fd);
  CHECKED(other);
  return 0;
}

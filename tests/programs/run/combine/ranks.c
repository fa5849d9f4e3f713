// build: -O1
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// ranks FILE WHAT: processes that write a file together, in turns that a counter in shared memory gives.
enum { ranks = 4, turns = 200, record = 1000 };
static volatile int* turn;
static const char* path;

static void fail(const char* what) {
  perror(what);
  *turn = 1000000; /* nobody waits */
  _exit(9);
}
static void wait_for(int number) {
  while (*turn < number) usleep(50);
}
static void put(int fd, int rank, int i, long offset, long length) {
  char data[4 * record];
  memset(data, 'a' + (rank * 7 + i) % 26, sizeof data);
  if (i % 3 == 0) { /* by position, and by offset */
    if (lseek(fd, offset, SEEK_SET) != offset || write(fd, data, length) != length) fail("write");
  } else if (pwrite(fd, data, length, offset) != length) {
    fail("pwrite");
  }
}
static long size_of(int fd) {
  struct stat found;
  if (fstat(fd, &found) != 0) fail("fstat");
  return found.st_size;
}

// In strides, side by side, no order needed.
static void strided(int rank, int fd) {
  for (int i = 0; i < turns; ++i) put(fd, rank, i, (long)(i * ranks + rank) * record, record);
}
// One over the other, in turns; now and then the file is cut, grown, or asked for its size.
static void overlapping(int rank, int fd) {
  for (int i = 0; i < turns; ++i) {
    if (i % ranks != rank) continue;
    wait_for(i);
    put(fd, rank, i, (long)(i * 37 % 113) * 300, 500 + (i * 91) % 3000);
    if (i % 50 == 20 && ftruncate(fd, 20000 + i) != 0) fail("ftruncate");
    if (i % 50 == 20 && size_of(fd) != 20000 + i) fail("size");
    if (i % 50 == 30 && lseek(fd, 100, SEEK_END) != size_of(fd) + 100) fail("end");
    if (i % 50 == 40 && posix_fallocate(fd, 0, 50000 + i) != 0) fail("allocate");
    if (i % 50 == 45 && fsync(fd) != 0) fail("fsync");
    *turn = i + 1;
  }
}
// Somebody else looks, in the middle of it: from then on it is the file itself that all write to.
static void looked_at(int rank, int fd) {
  for (int i = 0; i < turns; ++i) {
    if (i % ranks != rank) continue;
    wait_for(i);
    put(fd, rank, i, (long)i * record / 2, record);
    if (i == turns / 2) {
      char byte = 0;
      const int reading = open(path, O_RDONLY);
      if (pread(reading, &byte, 1, (long)i * record / 2) != 1 || byte != 'a' + (rank * 7 + i) % 26)
        fail("stale");
      close(reading);
    }
    *turn = i + 1;
  }
}

int main(int count, char** words) {
  (void)count;
  path = words[1];
  umask(022);
  const char* what = words[2];
  turn = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const int kills = strncmp(what, "kill", 4) == 0;
  const int over = strcmp(what, "over") == 0; /* what is there stays, as far as nobody writes there */
  close(open(path, O_WRONLY | O_CREAT | (over ? 0 : O_TRUNC), 0640));
  if (strcmp(what, "fork") == 0) { /* children that share one open file */
    const int fd = open(path, O_WRONLY);
    for (int rank = 0; rank < ranks; ++rank) {
      if (fork() == 0) {
        for (int i = 0; i < turns; ++i) {
          if (write(fd, "0123456789", 10) != 10) fail("write");
        }
        close(fd);
        _exit(0);
      }
    }
    while (wait(NULL) > 0) {
    }
    if (lseek(fd, 0, SEEK_CUR) != ranks * turns * 10) fail("position");
    return 0;
  }
  for (int rank = 0; rank < ranks; ++rank) {
    if (fork() != 0) continue;
    const int fd = open(path, O_WRONLY | O_CREAT, 0640);
    if (fd < 0) fail("open");
    struct stat named;
    if (fstat(fd, &named) != 0 || (!over && (named.st_mode & 07777) != 0640)) fail("mode");
    if (strcmp(what, "overlapping") == 0 || over) {
      overlapping(rank, fd);
    } else if (strcmp(what, "looked-at") == 0) {
      looked_at(rank, fd);
    } else {
      strided(rank, fd);
    }
    if (kills) {
      if (rank == 1 && strstr(what, "parent")) kill(atoi(getenv("KEEPER")), SIGKILL);
      __sync_fetch_and_add(turn, 1);
      wait_for(ranks);
      if (strstr(what, "rank")) kill(getpid(), SIGKILL);
    }
    if (close(fd) != 0) fail("close");
    _exit(0);
  }
  int status = 0;
  int bad = 0;
  while (wait(&status) > 0) bad |= WIFSIGNALED(status) ? 0 : WEXITSTATUS(status);
  struct stat found;
  if (stat(path, &found) != 0) fail("stat");
  printf("%ld\n", (long)found.st_size);
  fflush(stdout);
  if (strstr(what, "all")) kill(getpid(), SIGKILL);
  if (strcmp(what, "renamed") == 0) {
    char other[4096];
    snprintf(other, sizeof other, "%s.renamed", path);
    if (rename(path, other) != 0) fail("rename");
  }
  return bad;
}

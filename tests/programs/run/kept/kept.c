// build: -O1 -pthread
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int fd;
static char record[100];

static void put(int number) {
  snprintf(record, sizeof record, "%099d", number);
  if (write(fd, record, sizeof record) != sizeof record) abort();
}
static int wrong(int count) {
  int out = 0;
  char found[100];
  for (int i = 0; i < count; ++i) {
    snprintf(record, sizeof record, "%099d", i);
    out +=
        pread(fd, found, sizeof found, i * 100) != sizeof found || memcmp(found, record, sizeof found) != 0;
  }
  return out;
}
static void tell(const char* name) {
  close(open(name, O_CREAT | O_WRONLY, 0600));
}
static void wait_for(const char* name) {
  while (access(name, F_OK) != 0) usleep(1000);
}

/* Something happens outside in the middle. */
static void outside(const char* path, int unlinked) {
  fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  for (int i = 0; i < 100; ++i) put(i);
  if (unlinked) unlink(path);
  tell("ready");
  wait_for("go");
  const int lost = wrong(100);
  for (int i = 100; i < 200; ++i) put(i);
  printf("wrong %d and %d\n", lost, wrong(200));
}
/* Sluice is killed in the middle, and the program goes on for long. */
static void alone(const char* path) {
  fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  for (int i = 0; i < 100; ++i) put(i);
  tell("ready");
  wait_for("go");
  for (int i = 100; i < 30000; ++i) put(i);
  tell("written");
  wait_for("end");
}
/* A child goes on when the run is over. */
static void behind(const char* path) {
  fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fork() != 0) {
    wait_for("ready");
    return;
  }
  for (int i = 0; i < 100; ++i) put(i);
  chmod(path, 0640);
  tell("ready");
  wait_for("go");
  for (int i = 100; i < 200; ++i) put(i);
  printf("wrong %d\n", wrong(200));
}
/* What was acknowledged, and what is there when one write has failed; the one over bytes that are kept, too.
 */
static void failing(const char* path, int over) {
  long all = 0;
  fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  memset(record, 'x', sizeof record);
  ssize_t done = 0;
  while (all < 3000000) {
    if (over && all == 1048500) {
      memset(record, 'y', sizeof record);
      all -= 10;
      lseek(fd, -10, SEEK_CUR);
    }
    done = write(fd, record, sizeof record);
    if (done < 0) break;
    all += done;
  }
  char found = '?';
  printf("%s, position as acknowledged: %d", done < 0 ? strerror(errno) : "none failed",
         lseek(fd, 0, SEEK_CUR) == all);
  if (over && pread(fd, &found, 1, 1048495) == 1) printf(", over: %c", found);
  struct stat file;
  const int closed = close(fd);
  stat(path, &file);
  printf(", closed %d, size as acknowledged: %d\n", closed, file.st_size == all + (over ? 10 : 0));
}
/* The file is closed although it could not be written; there is room then, and it is written anew. */
static void anew(const char* path) {
  fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  for (int i = 0; i < 100; ++i) put(i);
  const int closed = close(fd);
  fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  for (int i = 0; i < 100; ++i) {
    memset(record, 'n', sizeof record);
    if (pwrite(fd, record, sizeof record, i * 100) != sizeof record) abort();
  }
  fsync(fd);
  close(fd);
  tell("ready");
  wait_for("go");
  char found[100] = "";
  fd = open(path, O_RDONLY);
  pread(fd, found, sizeof found, 0);
  printf("closed %d, found %s\n", closed, memcmp(found, record, sizeof found) == 0 ? "new" : "old");
}
/* The kernel's position cannot be set. */
static void unplaced(const char* path) {
  fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  for (int i = 0; i < 100; ++i) put(i);
  const ssize_t got = read(fd, record, 0);
  printf("%zd %s\n", got, got < 0 ? strerror(errno) : "");
  for (int i = 100; i < 200; ++i) put(i);
  printf("wrong %d\n", wrong(200));
}
/* No descriptor is left when a file is closed: nobody has it any more all the same. */
static void exhausted(const char* path) {
  const struct rlimit limit = {64, 64};
  fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  for (int i = 0; i < 100; ++i) put(i);
  flock(fd, LOCK_EX);
  setrlimit(RLIMIT_NOFILE, &limit);
  while (dup(0) >= 0)
    ;
  close(fd);
  fd = open(path, O_RDWR);
  printf("opened %d, locked %d, wrong %d\n", fd >= 0, flock(fd, LOCK_EX | LOCK_NB), wrong(100));
}
/* A library of the program has taken the first of the real-time signals. */
static void allocated(const char* path) {
  extern int __libc_allocate_rtsig(int);
  __libc_allocate_rtsig(1);
  fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  for (int i = 0; i < 100; ++i) put(i);
  printf("read: %d\n", system("timeout 20 cat file >/dev/null"));
}
static void* loops(void* unused) {
  for (;;) pwrite(fd, record, sizeof record, 0);
  return unused;
}
static const char* file;
static void* looks(void* which) {
  struct stat out;
  put(0);
  pthread_cancel(pthread_self());
  switch (*(int*)which) {
    case 0:
      fstat(fd, &out);
      break;
    case 1:
      stat(file, &out);
      break;
    case 2:
      lseek(fd, 0, SEEK_END);
      break;
    case 3:
      ftruncate(fd, 10);
      break;
    case 4:
      fchmod(fd, 0600);
      break;
    case 5:
      rename(file, "other"), rename("other", file);
      break;
  }
  *(int*)which = -1;
  pthread_testcancel();
  return which;
}
static void cancelled(const char* path) {
  pthread_t thread;
  void* end = NULL;
  file = path;
  fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  pthread_create(&thread, NULL, loops, NULL);
  usleep(100000);
  pthread_cancel(thread);
  pthread_join(thread, &end);
  printf("ended: %d\n", end == PTHREAD_CANCELED);
  for (int i = 0; i < 6; ++i) {
    int which = i;
    for (int j = 0; j < 40; ++j) put(j);
    pthread_create(&thread, NULL, looks, &which);
    pthread_join(thread, &end);
    printf("%d done: %d, cancelled then: %d\n", i, which == -1, end == PTHREAD_CANCELED);
  }
}
/* A mapping whose descriptor is closed sees what is written later, and what is written by it stays. */
static void mapped(const char* path) {
  fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  ftruncate(fd, 8192);
  char* memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  fd = open(path, O_RDWR);
  for (int i = 0; i < 30; ++i) put(i);
  const char seen = memory[98];
  memory[98] = 'M';
  for (int i = 30; i < 60; ++i) put(i);
  close(fd);
  fd = open(path, O_RDONLY);
  char found = 0;
  pread(fd, &found, 1, 98);
  printf("seen %c, found %c\n", seen, found);
}
static void limited(const char* path) {
  const struct rlimit limit = {20000, 20000};
  signal(SIGXFSZ, SIG_IGN);
  fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  for (int i = 0; i < 100; ++i) put(i);
  setrlimit(RLIMIT_FSIZE, &limit);
  int i = 100;
  while (i < 300 && write(fd, record, sizeof record) == sizeof record) ++i;
  printf("%d, %s, %d\n", i, strerror(errno), close(fd));
}
/* Children that are killed with something kept back, and then somebody who writes much. */
static void killed(const char* path, int many) {
  for (int i = 0; i < many; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
      for (int j = 0; j < 100; ++j) put(j);
      kill(getpid(), SIGKILL);
    }
    waitpid(child, NULL, 0);
    usleep(50000);
  }
  fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  for (int j = 0; j < 30000; ++j) put(j);
}

int main(int count, char** words) {
  setvbuf(stdout, NULL, _IONBF, 0);
  const char* mode = words[1];
  const char* path = words[2];
  if (strcmp(mode, "outside") == 0) outside(path, 0);
  if (strcmp(mode, "unlinked") == 0) outside(path, 1);
  if (strcmp(mode, "alone") == 0) alone(path);
  if (strcmp(mode, "behind") == 0) behind(path);
  if (strcmp(mode, "failing") == 0) failing(path, 0);
  if (strcmp(mode, "failing-over") == 0) failing(path, 1);
  if (strcmp(mode, "cancelled") == 0) cancelled(path);
  if (strcmp(mode, "mapped") == 0) mapped(path);
  if (strcmp(mode, "limited") == 0) limited(path);
  if (strcmp(mode, "anew") == 0) anew(path);
  if (strcmp(mode, "unplaced") == 0) unplaced(path);
  if (strcmp(mode, "exhausted") == 0) exhausted(path);
  if (strcmp(mode, "allocated") == 0) allocated(path);
  if (strcmp(mode, "killed") == 0) killed(path, atoi(words[3]));
  return count < 3;
}

// build: -O1 -pthread
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void* thread(void* number) {
  char path[64];
  snprintf(path, sizeof path, "thread%ld", (long)number);
  int fd = open(path, O_CREAT | O_RDWR, 0600);
  for (int i = 0; i < 50; ++i) {
    pwrite(fd, "0123456789", 10, i * 20);
  }
  close(fd);
  return NULL;
}

int main(void) {
  struct iovec two[2] = {{"ab", 2}, {"cde", 3}};
  int fd = open("a, (b) \"c\".dat", O_CREAT | O_RDWR | O_TRUNC, 0640);
  write(fd, "hello", 5);
  writev(fd, two, 2);
  pwritev(fd, two, 2, 100);
  lseek(fd, 0, SEEK_END);
  fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 4096);
  posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  fsync(fd);
  fdatasync(fd);
  ftruncate(fd, 50);
  int copy = dup(fd);
  close(fd);
  write(copy, "x", 1);
  int high = fcntl(copy, F_DUPFD_CLOEXEC, 50);
  pread(high, two[0].iov_base == 0 ? 0 : (char[100]){0}, 100, 2);
  pthread_t all[4];
  for (long i = 0; i < 4; ++i) {
    pthread_create(&all[i], NULL, thread, (void*)i);
  }
  for (long i = 0; i < 4; ++i) {
    pthread_join(all[i], NULL);
  }
  int ends[2];
  pipe(ends);
  write(ends[1], "x", 1);
  if (open("missing", O_RDONLY) >= 0) return 1;
  int none = open("/dev/null", O_WRONLY);
  write(none, "nothing", 7);
  mkdir("sub", 0700);
  int folder = open("sub", O_RDONLY | O_DIRECTORY);
  int below = openat(folder, "below", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  write(below, "below", 5);
  rename("thread0", "sub/renamed");
  renameat2(AT_FDCWD, "thread1", folder, "renamed", RENAME_NOREPLACE);
  link("thread1", "sub/linked");
  fsync(folder);
  unlink("thread1");
  unlinkat(folder, "missing", 0);
  mkdirat(folder, "deep", 0700);
  rmdir("sub/deep");
  rmdir("sub");
  chdir("sub");
  int inside = open("../sub/inside", O_CREAT | O_WRONLY, 0600);
  write(inside, "qq", 2);
  if (fork() == 0) {
    write(copy, "child", 5);
    execl("/bin/cp", "cp", "inside", "copy", NULL);
    _exit(1);
  }
  wait(NULL);
  close(copy);
  close(high);
  return 0;
}

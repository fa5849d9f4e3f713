// build: -O1 -pthread
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int shared;

static void* thread(void* number) {
  char path[64], data[1000];
  snprintf(path, sizeof path, "thread%ld", (long)number);
  int fd = open(path, O_CREAT | O_RDWR, 0600);
  for (int i = 0; i < 50; ++i) {
    pwrite(fd, data, 100, i * 200);
    pwrite(shared, data, 10, (long)number * 1000 + i * 10);
    pread(shared, data, 10, i * 10);
  }
  ftruncate(fd, 777);
  fsync(fd);
  close(fd);
  return NULL;
}

int main(void) {
  char data[4096];
  // Read before it is written, to its end.
  int fd = open("input", O_RDONLY);
  while (read(fd, data, sizeof data) > 0) {
  }
  lseek(fd, -100, SEEK_END);
  read(fd, data, 200);
  close(fd);
  if (open("missing", O_RDONLY) >= 0 || open("input", O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) return 1;
  // Made, removed and made again.
  for (int i = 0; i < 5; ++i) {
    fd = open("lock", O_CREAT | O_EXCL | O_WRONLY, 0400);
    write(fd, data, 100 * i);
    close(fd);
    rename("lock", "index");
    fd = open("index", O_RDONLY);
    read(fd, data, sizeof data);
    close(fd);
  }
  fd = open("odd\nname \377", O_CREAT | O_RDWR | O_APPEND, 0640);
  write(fd, data, 10);
  write(fd, data, 20);
  posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  fallocate(fd, 0, 0, 5000);
  struct iovec parts[2] = {{data, 1000}, {data, 500}};
  writev(fd, parts, 2);
  shared = open("shared", O_CREAT | O_RDWR, 0600);
  pthread_t all[8];
  for (long i = 0; i < 8; ++i) pthread_create(&all[i], NULL, thread, (void*)i);
  for (long i = 0; i < 8; ++i) pthread_join(all[i], NULL);
  // A file and its position that two processes share, and one that another program is born with.
  fd = open("inherited", O_CREAT | O_RDWR | O_TRUNC, 0600);
  write(fd, "one", 3);
  for (int i = 0; i < 3; ++i) {
    if (fork() == 0) {
      write(fd, "child", 5);
      if (i == 2) {
        dup2(fd, 1);
        execlp("echo", "echo", "from another program", NULL);
      }
      _exit(0);
    }
    wait(NULL);
  }
  write(fd, "end", 3);
  close(fd);
  return 0;
}

// build: -O1 -pthread
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void* thread(void* number) {
  char path[64];
  snprintf(path, sizeof path, "thread%ld", (long)number);
  int fd = open(path, O_CREAT | O_RDWR, 0600);
  for (int i = 0; i < 200; ++i) {
    pwrite(fd, "0123456789", 10, i * 20);
  }
  close(fd);
  return NULL;
}

int main(int count, char** words) {
  int fd = open("file", O_CREAT | O_RDWR | O_TRUNC, 0640);
  write(fd, "hello", 5);
  lseek(fd, 100, SEEK_SET);
  write(fd, "world", 5);
  char data[10];
  pread(fd, data, 10, 2);
  fsync(fd);
  ftruncate(fd, 50);
  posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  if (open("missing", O_RDONLY) >= 0) return 1;
  pthread_t all[200];
  for (long i = 0; i < 200; ++i) {
    pthread_create(&all[i], NULL, thread, (void*)(i % 4));
  }
  for (long i = 0; i < 200; ++i) {
    pthread_join(all[i], NULL);
  }
  if (fork() == 0) {
    write(fd, "child", 5);
    execlp("cp", "cp", "file", "copy", NULL);
    _exit(1);
  }
  wait(NULL);
  close(fd);
  mkdir("folder", 0700);
  rename("copy", "folder/renamed");
  link("folder/renamed", "second name");
  fd = open("folder", O_RDONLY | O_DIRECTORY);
  fsync(fd);
  fdatasync(fd);
  close(fd);
  remove("second name");
  unlink("nothing");
  unlink("folder/renamed");
  rmdir("folder");
  if (count > 1) {
    write(open("last", O_CREAT | O_WRONLY, 0600), words[1], strlen(words[1]));
    kill(strcmp(words[1], "both") == 0 ? 0 : getpid(), SIGKILL);
  }
  return 0;
}

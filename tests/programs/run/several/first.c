// build: -pthread
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
static int made[2], seen[2];
static void* work(void* unused) {
  char byte;
  usleep(100000);
  const int fd = open("first.d/file", O_WRONLY | O_CREAT, 0600);
  if (write(fd, "one", 3) != 3 || write(made[1], "x", 1) != 1 || read(seen[0], &byte, 1) != 1) exit(1);
  exit(write(fd, "two", 3) != 3 || close(fd) != 0);
}
int main(void) {
  pthread_t thread;
  struct stat found;
  char byte;
  int status;
  if (pipe(made) != 0 || pipe(seen) != 0) return 2;
  if (fork() == 0) {
    pthread_create(&thread, NULL, work, NULL);
    pthread_exit(NULL);
  }
  if (read(made[0], &byte, 1) != 1 || stat("first.d/file", &found) != 0 || found.st_size != 3) return 3;
  if (rename("first.d/file", "first.d/moved") != 0) return 4;
  return write(seen[1], "x", 1) != 1 || wait(&status) < 0 || status != 0;
}

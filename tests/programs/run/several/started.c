// build: -pthread
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void make(const char* who, int i) {
  char path[64], other[64];
  snprintf(path, sizeof path, "started.d/%s%d", who, i);
  snprintf(other, sizeof other, "started.d/%s-%d", who, i);
  const int fd = open(path, O_WRONLY | O_CREAT, 0600);
  if (fd < 0 || write(fd, "x", 1) != 1 || close(fd) != 0 || rename(path, other) != 0 || unlink(other) != 0) {
    perror(path);
    exit(1);
  }
}
static void* start(void* unused) {
  usleep(2000 + rand() % 3000);
  execl("./started", "started", "again", NULL);
  exit(2);
}
int main(int count, char** words) {
  if (count > 1) {
    for (int i = 0; i < 20; ++i) make("again", i);
    return 0;
  }
  srand(getpid());
  for (int round = 0; round < 40; ++round) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
      pthread_t thread;
      pthread_create(&thread, NULL, start, NULL);
      for (int i = 0;; ++i) make("child", i % 200);
    }
    for (int i = 0; i < 20; ++i) make("self", i);
    if (waitpid(child, &status, 0) != child || (status != 0 && !WIFEXITED(status))) return 3;
    if (system("rm -f started.d/child*") != 0) return 4;
  }
  return 0;
}

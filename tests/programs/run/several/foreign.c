// build: -pthread
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void* start(void* unused) {
  char* const nothing[] = {NULL};
  usleep(2000 + rand() % 3000);
  execle("/bin/sleep", "sleep", "1000", NULL, nothing);
  exit(2);
}
int main(int count, char** words) {
  pid_t children[8];
  srand(getpid());
  for (int i = 0; i < 8; ++i) {
    children[i] = fork();
    if (children[i] == 0) {
      char path[64], other[64];
      pthread_t thread;
      snprintf(path, sizeof path, "foreign.d/%d", i);
      snprintf(other, sizeof other, "foreign.d/-%d", i);
      srand(getpid());
      close(open(path, O_WRONLY | O_CREAT, 0600));
      pthread_create(&thread, NULL, start, NULL);
      while (1) {
        rename(path, other);
        rename(other, path);
      }
    }
  }
  for (int i = 0; i < 8; ++i) {
    char path[64], name[64] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", children[i]);
    while (strncmp(name, "sleep", 5) != 0) {
      FILE* file = fopen(path, "r");
      if (file == NULL || fgets(name, sizeof name, file) == NULL) return 1;
      fclose(file);
    }
  }
  int failed = 0;
  for (int i = 0; i < 300; ++i) {
    char path[64], other[64];
    snprintf(path, sizeof path, "foreign.d/self%d", i);
    snprintf(other, sizeof other, "foreign.d/other%d", i);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    failed += rename(path, other) != 0 || unlink(other) != 0;
  }
  for (int i = 0; i < 8; ++i) kill(children[i], SIGKILL);
  while (wait(NULL) > 0) continue;
  return failed;
}

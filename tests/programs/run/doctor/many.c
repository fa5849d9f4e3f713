// build: -O1 -pthread
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void* work(void* name) {
  char byte = 'x';
  int fd = open(name, O_RDWR | O_CREAT, 0600);
  for (int i = 0; i < 100; ++i)
    if (pwrite(fd, &byte, 1, i) != 1 || pread(fd, &byte, 1, i) != 1) abort();
  close(fd);
  return 0;
}
int main(void) {
  static char names[4][32];
  for (int child = 0; child < 3; ++child) {
    if (fork() == 0) {
      pthread_t ids[4];
      for (int i = 0; i < 4; ++i) {
        snprintf(names[i], sizeof names[i], "many.%d.%d", child, i);
        pthread_create(&ids[i], 0, work, names[i]);
      }
      for (int i = 0; i < 4; ++i) pthread_join(ids[i], 0);
      if (child == 2) execlp("cp", "cp", "many.2.1", "many.copy", (char*)0);
      exit(0);
    }
  }
  int bad = 0, status;
  while (wait(&status) > 0) bad |= status;
  return bad != 0;
}

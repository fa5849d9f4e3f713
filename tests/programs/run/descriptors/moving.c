// build: -O1 -pthread
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
extern char** environ;
enum { threads = 3 };
static volatile int stop;
static long wrote[threads];
static char names[threads][32];
static void* work(void* argument) {
  const long self = (long)argument;
  char bytes[100];
  memset(bytes, 'A' + (int)self, sizeof bytes);
  unsigned seed = 7 * (unsigned)self + 1;
  int fd = open(names[self], O_RDWR | O_CREAT | O_TRUNC, 0644);
  while (!stop) {
    seed = seed * 1103515245u + 12345u;
    const unsigned what = (seed >> 8) % 100;
    if (what < 90) {
      const int length = (int)((seed >> 16) % 90) + 1;
      if (write(fd, bytes, (size_t)length) != length) {
        perror("write");
        exit(1);
      }
      wrote[self] += length;
    } else if (what < 96) {
      const int other = dup(fd);
      close(fd);
      fd = other;
    } else {
      const off_t at = lseek(fd, 0, SEEK_CUR);
      close(fd);
      fd = open(names[self], O_RDWR);
      lseek(fd, at, SEEK_SET);
      if (at > 1000000) {
        if (ftruncate(fd, 0) != 0) exit(1);
        lseek(fd, 0, SEEK_SET);
        wrote[self] = 0;
      }
    }
  }
  close(fd);
  return NULL;
}
int main(int count, char** words) {
  pthread_t all[threads];
  for (long i = 0; i < threads; ++i) {
    snprintf(names[i], sizeof names[i], "data/moving%ld", i);
    pthread_create(&all[i], NULL, work, (void*)i);
  }
  for (int i = 0; i < atoi(words[2]); ++i) {
    if (words[1][0] == 's') {
      pid_t child;
      char* command[] = {"true", NULL};
      if (posix_spawn(&child, "/bin/true", NULL, NULL, command, environ) == 0) waitpid(child, NULL, 0);
    } else {
      struct stat found;
      for (int j = 0; j < threads; ++j) stat(names[j], &found);
    }
  }
  stop = 1;
  int bad = count != 3;
  for (long i = 0; i < threads; ++i) pthread_join(all[i], NULL);
  for (long i = 0; i < threads; ++i) {
    FILE* file = fopen(names[i], "r");
    long size = 0, wrong = 0;
    for (int byte; (byte = fgetc(file)) != EOF; ++size) wrong += byte != 'A' + i;
    fclose(file);
    if (size != wrote[i] || wrong != 0) {
      printf("%s: %ld of %ld bytes, %ld of them wrong\n", names[i], size, wrote[i], wrong);
      bad = 1;
    }
  }
  return bad;
}

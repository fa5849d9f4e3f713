#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char** words) {
  static char text[200000];
  const int rounds = atoi(words[1]);
  int to_look[2], to_open[2], i = 0, status = 0;
  char path[64];
  if (pipe(to_look) != 0 || pipe(to_open) != 0) return 1;
  if (fork() == 0) {
    close(to_look[1]);
    while (read(to_look[0], &i, sizeof i) == sizeof i) {
      snprintf(path, sizeof path, "half.d/f%d", i);
      struct stat found;
      for (int j = 0; j < 30; ++j) {
        if (stat(path, &found) != 0 || found.st_size != sizeof text) exit(1);
      }
    }
    exit(0);
  }
  if (fork() == 0) {
    close(to_look[1]);
    close(to_open[1]);
    while (read(to_open[0], &i, sizeof i) == sizeof i) {
      snprintf(path, sizeof path, "half.d/f%d", i);
      const int fd = open(path, O_RDONLY);
      if (lseek(fd, 0, SEEK_END) != sizeof text) exit(1);
      close(fd);
    }
    exit(0);
  }
  for (i = 0; i < rounds; ++i) {
    snprintf(path, sizeof path, "half.d/f%d", i);
    const int fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (write(fd, text, sizeof text) != sizeof text || close(fd) != 0) return 2;
    if (write(to_open[1], &i, sizeof i) < 0 || write(to_look[1], &i, sizeof i) < 0) return 3;
  }
  close(to_look[1]);
  close(to_open[1]);
  int failed = 0;
  while (wait(&status) > 0) failed += status != 0;
  return failed;
}

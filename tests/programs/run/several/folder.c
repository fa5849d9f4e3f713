#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char** words) {
  const int rounds = atoi(words[1]);
  const pid_t remover = fork();
  while (remover == 0) rmdir("folder.d/d");
  const pid_t other = fork();
  for (int i = 0; other == 0; ++i) {
    const int fd = open("folder.d/other", O_WRONLY | O_CREAT, 0600);
    if (write(fd, "x", 1) != 1) exit(1);
    close(fd);
    usleep(100);
    unlink("folder.d/other");
  }
  int lost = 0;
  for (int i = 0; i < rounds; ++i) {
    mkdir("folder.d/d", 0700);
    const int fd = open("folder.d/d/file", O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0 && errno == ENOENT) continue;
    if (fd < 0 || write(fd, "text", 4) != 4 || close(fd) != 0) return 2;
    lost += unlink("folder.d/d/file") != 0;
  }
  kill(remover, SIGKILL);
  kill(other, SIGKILL);
  while (wait(NULL) > 0) continue;
  if (lost > 0) fprintf(stderr, "%d are gone\n", lost);
  return lost > 0;
}

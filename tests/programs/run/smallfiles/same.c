#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void touch(int way) {
  const struct open_how how = {.flags = O_WRONLY | O_CREAT | O_APPEND, .mode = 0600};
  FILE* stream = way == 3 ? fopen("file", "a,ccs=UTF-8") : NULL;
  if (stream != NULL) fclose(stream);
  const int fd = way == 0   ? open("file", O_WRONLY | O_CREAT | O_APPEND, 0600)
                 : way == 1 ? open("link", O_WRONLY | O_CREAT | O_APPEND, 0600)
                 : way == 2 ? syscall(SYS_openat2, AT_FDCWD, "file", &how, sizeof how)
                            : -1;
  if (fd >= 0) close(fd);
}
int main(int count, char** words) {
  symlink("file", "link");
  for (int way = 0; way < 4; ++way) {
    const pid_t other = fork();
    while (other == 0) touch(way);
    for (int i = 0; i < 1000;) {
      char byte = 0;
      int fd = open("file", O_WRONLY | O_CREAT | O_EXCL, 0600);
      if (fd < 0) {
        if (errno != EEXIST) return 10 + way;
        unlink("file");
        continue;
      }
      ++i;
      if (write(fd, "x", 1) != 1 || close(fd) != 0) return 20 + way;
      if ((fd = open("file", O_RDONLY)) < 0 || read(fd, &byte, 1) != 1) return 30 + way;
      if (close(fd) != 0 || unlink("file") != 0) return 40 + way;
    }
    kill(other, SIGKILL);
    wait(NULL);
    unlink("file");
  }
  return 0;
}

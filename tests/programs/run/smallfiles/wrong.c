#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static int current = -1;
static void look(int signal) {
  const int saved = errno;
  struct stat found;
  if (current >= 0) fstat(current, &found);
  errno = saved;
}
static int make(const char* path) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  return fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0;
}
int main(void) {
  mkdir("d", 0700);
  if (!make("d/f")) return 1;
  if (remove("d") == 0 || unlinkat(AT_FDCWD, "d", AT_REMOVEDIR) == 0 || rmdir("d") == 0) return 2;
  if (!make("g") || unlinkat(AT_FDCWD, "g", AT_REMOVEDIR) == 0 || mkdir("g/", 0700) == 0) return 3;
  signal(SIGALRM, look);
  const struct itimerval often = {{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &often, NULL);
  static char text[60000];
  for (int i = 0; i < 200; ++i) {
    char path[32];
    snprintf(path, sizeof path, "s%d", i);
    current = open(path, O_WRONLY | O_CREAT, 0600);
    for (int j = 0; j < 4; ++j) {
      memset(text, 'a' + j, sizeof text);
      if (write(current, text, sizeof text) != sizeof text) return 5;
    }
    const int fd = current;
    current = -1;
    close(fd);
  }
  return 0;
}

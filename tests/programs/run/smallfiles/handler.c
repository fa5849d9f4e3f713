// build: -O1
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
enum { all = 300 };
static volatile int forks = 0, is_child = 0;
static void handler(int signal) {
  const int saved = errno;
  if (is_child || forks >= all) return;
  const pid_t child = fork();
  is_child = child == 0;
  forks += child > 0;
  errno = saved;
}
static void round_of(int i) {
  char path[32];
  snprintf(path, sizeof path, "f%d", i % 50);
  const int fd = open(path, O_WRONLY | O_CREAT, 0600);
  write(fd, "text", 4);
  close(fd);
  unlink(path);
}
int main(void) {
  const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  const struct itimerval often = {{0, 2000}, {0, 2000}};
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  for (int i = 0; forks < all; ++i) {
    round_of(i);
    if (is_child) _exit(0);
  }
  int status, children = 0;
  while (wait(&status) > 0 || errno == EINTR) children += status == 0;
  if (children != all) return 2;
  const int fd = open("last", O_WRONLY | O_CREAT | O_EXCL, 0600);
  return fd < 0 || write(fd, "text", 4) != 4 || close(fd) != 0;
}

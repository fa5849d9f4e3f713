// build: -O1
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static sigjmp_buf out;
static volatile sig_atomic_t may = 0, jumps = 0;
static void jump(int signal) {
  if (may) {
    ++jumps;
    may = 0;
    siglongjmp(out, 1);
  }
}
int main(void) {
  signal(SIGALRM, jump);
  const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  static volatile int number = 0;
  char path[32];
  while (jumps < 600) {
    if (sigsetjmp(out, 1) != 0) closefrom(3);
    may = 1;
    for (;;) {
      snprintf(path, sizeof path, "j%d", number++);
      const int fd = open(path, O_WRONLY | O_CREAT, 0600);
      if (fd < 0 || write(fd, path, sizeof path) != sizeof path || close(fd) != 0) return 1;
      if (jumps >= 600) break;
    }
  }
  may = 0;
  setitimer(ITIMER_REAL, &never, NULL);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    for (int i = 0; i < 100; ++i) {
      snprintf(path, sizeof path, "c%d", i);
      const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
      if (fd < 0 || write(fd, path, sizeof path) != sizeof path || close(fd) != 0) _exit(2);
    }
    _exit(0);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 3;
}

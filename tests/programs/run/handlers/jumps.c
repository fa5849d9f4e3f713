// build: -O2
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
static sigjmp_buf away;
static volatile int jumped;
static void jump(int signal) {
  (void)signal;
  ++jumped;
  siglongjmp(away, 1);
}
int main(void) {
  struct sigaction action = {.sa_handler = jump};
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  const struct itimerspec soon = {.it_value = {0, 30000}};
  timer_t timer;
  volatile long written = 0;
  volatile int bad = 0;
  const int fd = open("out/records", O_CREAT | O_RDWR | O_TRUNC, 0644);
  sigaction(SIGALRM, &action, NULL);
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  while (jumped < 2000) {
    if (sigsetjmp(away, 1) == 0) {
      timer_settime(timer, 0, &soon, NULL);
      for (;;) {
        bad += write(fd, "123456789\n", 10) != 10;
        written += 10;
      }
    }
  }
  struct stat found;
  fstat(fd, &found);
  printf("%d %d %d\n", bad, (int)(found.st_size % 10), found.st_size >= written);
  return 0;
}

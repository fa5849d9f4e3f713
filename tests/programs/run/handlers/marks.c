// build: -O2
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
static volatile int fd = -1;
static volatile long marks;
static timer_t timer;
static const struct itimerspec soon = {.it_value = {0, 40000}};
/* Again only when this one is done: it must get on, however slow the machine is. */
static void mark(int signal) {
  const int before = errno;
  (void)signal;
  if (fd >= 0 && write(fd, "mark\n", 5) == 5) ++marks;
  timer_settime(timer, 0, &soon, NULL);
  errno = before;
}
int main(int count, char** words) {
  static char record[20000];
  struct sigaction action = {.sa_handler = mark, .sa_flags = SA_RESTART};
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  sigset_t alarm;
  int wrong = 0;
  long all = 0;
  (void)count;
  memset(record, 'r', sizeof record);
  sigaction(SIGALRM, &action, NULL);
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &soon, NULL);
  for (int i = 0; i < 300; ++i) {
    char name[32];
    struct stat found;
    snprintf(name, sizeof name, "out/%d", i);
    const int own = open(name, O_CREAT | O_RDWR | O_TRUNC, 0644);
    long written = 0;
    marks = 0;
    fd = own;
    for (int j = 0; j < 5; ++j) written += write(own, record, sizeof record);
    switch (words[1][0]) {
      case 's':
        fstat(own, &found);
        break;
      case 'd':
        close(dup(own));
        break;
      case 'y':
        fdatasync(own);
        break;
      default:
        for (int j = 0; j < 12; ++j) written += write(own, record, sizeof record);
    }
    written += write(own, "end\n", 4);
    sigprocmask(SIG_BLOCK, &alarm, NULL);
    fd = -1;
    all += marks;
    fstat(own, &found);
    wrong += found.st_size != written + 5 * marks;
    sigprocmask(SIG_UNBLOCK, &alarm, NULL);
    close(own);
  }
  printf("%d\n", wrong);
  return all == 0; /* no handler came */
}

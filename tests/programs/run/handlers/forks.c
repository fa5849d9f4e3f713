// build: -O1
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static int fd;
static volatile int forks, failed;
static void again(void) {
  const struct itimerval soon = {.it_value = {0, 300}};
  setitimer(ITIMER_REAL, &soon, NULL);
}
static void handler(int signal) {
  (void)signal;
  int status = 1;
  const pid_t child = fork();
  if (child == 0) _exit(write(fd, "child\n", 6) == 6 ? 0 : 1);
  waitpid(child, &status, 0);
  failed += status != 0;
  if (++forks < 100) again();
}
int main(void) {
  static char line[4000];
  memset(line, 'x', sizeof line);
  line[sizeof line - 1] = '\n';
  const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  fd = open("forked", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  again();
  while (forks < 100) {
    if (write(fd, line, sizeof line) != sizeof line) return 1;
    if (lseek(fd, 0, SEEK_CUR) > 100 << 20) lseek(fd, 0, SEEK_SET);
  }
  return failed != 0 || close(fd) != 0 ? 2 : 0;
}

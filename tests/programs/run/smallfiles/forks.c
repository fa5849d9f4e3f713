#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int fd;
static int lines(void* text) {
  for (int i = 0; i < 50; ++i) {
    if (write(fd, text, 11) != 11) return 1;
  }
  const int own = open(text, O_WRONLY | O_CREAT | O_EXCL, 0600);  // and has files of its own
  if (own < 0 || write(own, text, 11) != 11 || close(own) != 0) return 2;
  return 0;
}
int main(int count, char** words) {
  static char stack[256 * 1024];
  fd = open(words[1], O_WRONLY | O_CREAT, 0600);
  if (lines("parent.one\n") != 0) return 1;
  pid_t child = -1;
  if (strcmp(words[1], "clone") == 0) {
    child = clone(lines, stack + sizeof stack, SIGCHLD, "child.line\n");
  } else if ((child = _Fork()) == 0) {
    _exit(lines("child.line\n"));
  }
  int status = -1;
  if (waitpid(child, &status, 0) != child || status != 0) return 2;
  return lines("parent.two\n") != 0 || close(fd) != 0 ? 3 : 0;
}

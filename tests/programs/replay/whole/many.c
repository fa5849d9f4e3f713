// build: -O1
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
  for (int child = 0; child < 2; ++child) {
    if (fork() == 0) {
      char name[] = "many0";
      name[4] += child;
      int fd = open(name, O_CREAT | O_WRONLY, 0600);
      for (int i = 0; i < 900000; ++i) pwrite(fd, "x", 1, i & 1023);
      _exit(0);
    }
  }
  while (wait(NULL) > 0) {
  }
  return 0;
}

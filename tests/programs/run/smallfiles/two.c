#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
  int there[2], back[2];
  char byte;
  pipe(there), pipe(back);
  const pid_t child = fork();
  if (child == 0) {
    read(there[0], &byte, 1);
    char text[16] = "";
    const int fd = open("shared", O_RDWR | O_CREAT, 0600);
    if (read(fd, text, 16) != 4 || strcmp(text, "one\n") != 0) _exit(1);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) _exit(2);
    if (write(fd, "two\n", 4) != 4 || rename("shared", "renamed") != 0) _exit(3);
    write(back[1], "x", 1);
    _exit(0);
  }
  const int fd = open("shared", O_WRONLY | O_CREAT, 0600);
  flock(fd, LOCK_EX);
  if (write(fd, "one\n", 4) != 4) return 4;
  write(there[1], "x", 1);
  read(back[0], &byte, 1);
  if (lseek(fd, 0, SEEK_END) != 8 || write(fd, "three\n", 6) != 6 || close(fd) != 0) return 5;
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

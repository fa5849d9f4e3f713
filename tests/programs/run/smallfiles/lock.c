#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
enum { processes = 4, times = 1000 };
static int bound(void) {
  const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "lock"};
  const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  if (bind(fd, (const struct sockaddr*)&address, sizeof address) == 0) return fd;
  const int number = errno == EADDRINUSE ? EEXIST : errno;
  close(fd);
  errno = number;
  return -1;
}
static int renamed(void) {
  char own[32];
  snprintf(own, sizeof own, "own%d", getpid());
  close(open(own, O_WRONLY | O_CREAT | O_APPEND, 0600));
  return renameat2(AT_FDCWD, own, AT_FDCWD, "lock", RENAME_NOREPLACE);
}
static int make(int way, FILE** stream) {
  const struct open_how how = {.flags = O_WRONLY | O_CREAT | O_EXCL, .mode = 0600};
  switch (way) {
    case 0:
      return link("always", "lock");
    case 1:
      return symlink("always", "lock");
    case 2:
      return open("lock", O_WRONLY | O_APPEND | O_CREAT | O_EXCL, 0600);
    case 3:
      return syscall(SYS_openat2, AT_FDCWD, "lock", &how, sizeof how);
    case 4:
      return (*stream = fopen("lock", "wx,ccs=UTF-8")) == NULL ? -1 : fileno(*stream);
    case 5:
      return bound();
    case 6:
      return renamed();
    case 7:
      return syscall(SYS_mknodat, AT_FDCWD, "lock", S_IFREG | 0600, 0);
    default:
      return open("lock", O_WRONLY | O_CREAT | O_EXCL, 0600);
  }
}
int main(void) {
  int inside[2];  // a byte while nobody has it
  pipe(inside);
  write(inside[1], "x", 1);
  close(open("always", O_WRONLY | O_CREAT, 0600));
  for (int i = 0; i < processes; ++i) {
    if (fork() == 0) {
      unsigned seed = i;
      fcntl(inside[0], F_SETFL, O_NONBLOCK);
      for (int j = 0; j < times; ++j) {
        const int way = rand_r(&seed) % 14;
        FILE* stream = NULL;
        char byte;
        int fd;
        while ((fd = make(way, &stream)) < 0 && errno == EEXIST) {
        }
        if (fd < 0 || read(inside[0], &byte, 1) != 1) _exit(10 + way);
        if (write(inside[1], "x", 1) != 1) _exit(1);
        if (stream != NULL ? fclose(stream) != 0 : way > 1 && way != 6 && way != 7 && close(fd) != 0)
          _exit(20 + way);
        if (unlink("lock") != 0) _exit(30 + way);
      }
      _exit(0);
    }
  }
  for (int i = 0; i < processes; ++i) {
    int status;
    if (wait(&status) < 0) return 1;
    if (status != 0) return WEXITSTATUS(status);
  }
  return 0;
}

#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
  char link[64];
  const int fd = open("from", O_TMPFILE | O_WRONLY, 0644);
  if (fd < 0) return 77;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  for (int i = 0; i < 10; ++i) {
    char text[32];
    const int length = snprintf(text, sizeof text, "kept %d\n", i);
    if (write(fd, text, length) != length) return 1;
  }
  if (linkat(AT_FDCWD, link, AT_FDCWD, "to/named", AT_SYMLINK_FOLLOW) != 0) return 1;
  kill(getppid(), SIGKILL);
  kill(getpid(), SIGKILL);
}

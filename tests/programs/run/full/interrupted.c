#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
int main(void) {
  int fd = open("small/out", O_WRONLY | O_CREAT, 0600);
  for (int i = 0; i < 100; ++i) {
    if (write(fd, "text", 4) != 4) return 1;
  }
  return close(fd) == -1 && errno == EINTR ? 0 : 2;
}

#include <fcntl.h>
#include <unistd.h>
int main(void) {
  char found[90];
  int fd = open("beside", O_RDWR | O_CREAT | O_TRUNC, 0600);
  for (int i = 0; i < 30; ++i)
    if (write(fd, "abc", 3) != 3) return 1;
  if (fsync(fd) != 0 || lseek(fd, 0, SEEK_SET) != 0 || read(fd, found, 90) != 90) return 2;
  return close(fd);
}

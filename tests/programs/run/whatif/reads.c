#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(void) {
  int fd = open("file", O_RDONLY | O_TRUNC);
  if (fd < 0 || open("nofile", O_RDONLY | O_CREAT, 0644) != -1 || errno != ENOENT) return 1;
  if (open("file", O_RDONLY | O_CREAT | O_EXCL, 0644) != -1 || errno != EEXIST) return 2;
  fd = open("newfile", O_RDWR | O_CREAT, 0644);
  if (write(fd, "text", 4) != 4 || pread(fd, NULL, 4, 0) != -1 || errno != EFAULT) return 3;
  return write(fd, NULL, 4) == -1 && errno == EFAULT ? 0 : 4;
}

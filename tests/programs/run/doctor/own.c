// build: -D_GNU_SOURCE -O1
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
int main(int count, char** words) {
  int fd = open("own.out", O_RDWR | O_CREAT, 0600);
  char byte = 'x';
  if (count < 2) {
    getpwnam("root");
    return write(fd, &byte, 1) != 1;
  }
  if (words[1][0] == 'a') {
    struct aiocb one;
    memset(&one, 0, sizeof one);
    one.aio_fildes = fd;
    one.aio_buf = &byte;
    one.aio_nbytes = 1;
    if (aio_write(&one) != 0) return 1;
    while (aio_error(&one) == EINPROGRESS) usleep(1000);
    return aio_return(&one) != 1;
  }
  if (words[1][0] == 'f') {
    struct iovec part = {&byte, 1};
    return pwritev2(fd, &part, 1, 0, RWF_DSYNC) != 1;
  }
  int ends[2];
  return pipe(ends) != 0 || write(ends[1], &byte, 1) != 1 || splice(ends[0], 0, fd, 0, 1, 0) != 1;
}

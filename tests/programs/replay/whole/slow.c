#include <fcntl.h>
#include <unistd.h>
int main(void) {
  int fd = open("written", O_CREAT | O_WRONLY, 0600);
  for (int i = 0; i < 3; ++i) {
    write(fd, "x", 1);
    usleep(300000);
  }
  return 0;
}

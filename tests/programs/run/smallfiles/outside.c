#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void) {
  struct stat found;
  char byte;
  int folder = open("outside.d", O_RDONLY | O_DIRECTORY);
  int closed = openat(folder, "closed", O_WRONLY | O_CREAT, 0600);
  if (write(closed, "text", 4) != 4 || close(closed) != 0) return 1;
  int fd = openat(folder, "open", O_RDWR | O_CREAT, 0600);
  if (write(fd, "more", 4) != 4 || write(1, "x", 1) != 1 || read(0, &byte, 1) != 1) return 2;
  if (fstat(fd, &found) != 0 || found.st_size != 4) return 3;
  if (fstatat(folder, "closed", &found, 0) != 0 || found.st_size != 4) return 4;
  return renameat(folder, "open", folder, "renamed") != 0 || write(fd, "more", 4) != 4;
}

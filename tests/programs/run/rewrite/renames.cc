#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool read_all(char* out) {
  const int fd = open("name", O_RDONLY);
  const ssize_t size = fd < 0 ? -1 : read(fd, out, 99);
  out[size > 0 ? size : 0] = 0;
  return size > 0 && close(fd) == 0;
}
static int child(int number, int round) {
  char own[20], text[30], found[100];
  sprintf(own, "own.%d", number);
  sprintf(text, "process %d round %d", number, round);
  for (int i = 0; i < 3; ++i) {
    const int fd = open(own, O_WRONLY | O_CREAT, 0644);
    struct stat seen;
    if (write(fd, text, strlen(text)) < 0 || close(fd) != 0 || rename(own, "name") != 0 ||
        lstat("name", &seen) != 0 || !S_ISREG(seen.st_mode) || !read_all(found)) {
      perror(text);
      return 1;
    }
  }
  return 0;
}
int main() {
  int bad = 0, status = 0;
  char first[200], later[100];
  for (int round = 0; round < 60; ++round) {
    for (int i = 0; i < 3; ++i) {
      if (fork() == 0) _exit(child(i, round));
    }
    while (wait(&status) > 0) bad |= status;
    bad |= !read_all(first);
    for (int i = 0; i < 4; ++i) {
      usleep(3000);
      bad |= !read_all(later) || strcmp(first, later) != 0;
    }
  }
  const int fd = open("name", O_RDWR | O_APPEND);
  bad |= write(fd, " and more", 9) != 9 || fsync(fd) != 0 || close(fd) != 0;
  printf("%s and more", first);
  return bad != 0;
}

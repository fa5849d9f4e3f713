// build: -O2
/* Makes numbered small files, and tells after each how many were closed: in shared memory, which is there
 * when it is killed. Usage: maker FOLDER ACKNOWLEDGED SEED */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char** words) {
  if (count < 4) {
    return 2;
  }
  const int ack = open(words[2], O_RDWR | O_CREAT, 0600);
  if (ack < 0 || ftruncate(ack, 4096) != 0) {
    return 2;
  }
  volatile uint64_t* done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ack, 0);
  if (done == MAP_FAILED) {
    return 2;
  }
  srand((unsigned)atoi(words[3]));
  static char text[20000];
  for (uint64_t number = 0; number < 1000000; ++number) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%06llu", words[1], (unsigned long long)number);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0) {
      return 1;
    }
    /* Its length and its letters are its number's. */
    const size_t length = 1 + (size_t)(number * 7919 % sizeof text);
    memset(text, 'a' + (int)(number % 26), length);
    for (size_t at = 0; at < length;) {
      const size_t piece = 1 + (size_t)rand() % 5000;
      const ssize_t moved = write(fd, text + at, piece < length - at ? piece : length - at);
      if (moved <= 0) {
        return 1;
      }
      at += (size_t)moved;
    }
    if (close(fd) != 0) {
      return 1;
    }
    *done = number + 1;
  }
  return 0;
}

// build: -O2
/* Writes numbered records to a file, and tells after each how many it was told are written: in shared memory,
 * which is there when it is killed. Usage: writer FILE ACKNOWLEDGED SEED [position|offset|stdio] */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { record = 100 };

static void fill(char* out, uint64_t number) {
  memset(out, 'a' + (int)(number % 26), record);
  const int length = snprintf(out, record, "%020llu", (unsigned long long)number);
  out[length] = ':';
  out[record - 1] = '\n';
}

int main(int count, char** words) {
  if (count < 5) {
    return 2;
  }
  const int ack = open(words[2], O_RDWR | O_CREAT, 0600);
  if (ack < 0 || ftruncate(ack, 4096) != 0) {
    return 2;
  }
  volatile uint64_t* done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ack, 0);
  srand((unsigned)atoi(words[3]));
  const int fd = open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (fd < 0 || done == MAP_FAILED) {
    return 2;
  }
  const int by_offset = strcmp(words[4], "offset") == 0;
  char text[64 * record];
  for (uint64_t number = 0; number < 100000000;) {
    const int together = 1 + rand() % 4;
    for (int i = 0; i < together; ++i) {
      fill(text + i * record, number + (uint64_t)i);
    }
    const size_t length = (size_t)together * record;
    const ssize_t moved =
        by_offset ? pwrite(fd, text, length, (off_t)(number * record)) : write(fd, text, length);
    if (moved < 0 || moved % record != 0) {
      return 1;
    }
    number += (uint64_t)moved / record;
    *done = number;
    if (rand() % 5000 == 0) {
      fsync(fd);
    }
  }
  return 0;
}

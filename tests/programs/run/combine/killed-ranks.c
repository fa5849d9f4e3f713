// build: -O2
// ranks FILE ACK COUNT: three processes that write records to one file, and note in ACK, which is shared
// memory, how many of them were written. Now and then one closes the file and opens it again, syncs it, or
// all do so at once.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ranks = 3, record = 3000 };

int main(int count, char** words) {
  if (count != 4) return 2;
  const int records = atoi(words[3]);
  volatile int64_t* ack = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, open(words[2], O_RDWR), 0);
  if (ack == MAP_FAILED) return 3;
  for (int rank = 0; rank < ranks; ++rank) {
    if (fork() != 0) continue;
    int fd = open(words[1], O_WRONLY | O_CREAT, 0644);
    for (int i = 0; i < records; ++i) {
      char data[record];
      memset(data, 'a' + (rank * 5 + i) % 26, sizeof data);
      if (pwrite(fd, data, sizeof data, (off_t)(i * ranks + rank) * record) != record) _exit(4);
      ack[rank] = i + 1;
      if (i % 701 == 0 && fsync(fd) != 0) _exit(5);
      if (i % 500 == 100 * rank) {
        if (close(fd) != 0 || (fd = open(words[1], O_WRONLY)) < 0) _exit(6);
      }
    }
    _exit(close(fd) != 0);
  }
  int bad = 0;
  int status = 0;
  while (wait(&status) > 0) bad |= WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  return bad;
}

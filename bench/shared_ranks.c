// shared_ranks FILE RANKS RECORDS BYTES: processes that write records to one file, in turn side by side, and
// sync it.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char** words) {
  if (count != 5) return 2;
  const int ranks = atoi(words[2]);
  const int records = atoi(words[3]);
  const size_t bytes = (size_t)atol(words[4]);
  char* data = malloc(bytes);
  for (int rank = 0; rank < ranks; ++rank) {
    if (fork() != 0) continue;
    const int fd = open(words[1], O_WRONLY | O_CREAT, 0644);
    memset(data, 'a' + rank, bytes);
    for (int i = 0; i < records; ++i) {
      if (pwrite(fd, data, bytes, (off_t)(i * ranks + rank) * (off_t)bytes) != (ssize_t)bytes) _exit(1);
    }
    _exit(close(fd) != 0);
  }
  int bad = 0;
  int status = 0;
  while (wait(&status) > 0) bad |= status;
  return bad != 0;
}

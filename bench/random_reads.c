/* Looks things up in a table, as many programs do: random_reads FILE SIZE COUNT, so many reads of SIZE at
 * places drawn by lot, the same ones each time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int count, char** words) {
  if (count != 4) {
    return 2;
  }
  const size_t size = strtoul(words[2], NULL, 10);
  const long reads = strtol(words[3], NULL, 10);
  char* data = malloc(size);
  const int fd = open(words[1], O_RDONLY);
  struct stat found;
  if (data == NULL || fd < 0 || fstat(fd, &found) != 0 || found.st_size < (off_t)size) {
    perror(words[1]);
    return 1;
  }
  const long blocks = (long)(found.st_size / (off_t)size);
  srandom(1);
  for (long i = 0; i < reads; ++i) {
    const off_t at = (off_t)(random() % blocks) * (off_t)size;
    if (pread(fd, data, size, at) != (ssize_t)size) {
      perror(words[1]);
      return 1;
    }
  }
  return close(fd) != 0;
}

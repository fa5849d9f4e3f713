#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>
int main(void) {
  int from = open("from", O_RDONLY);
  int to = open("to", O_CREAT | O_WRONLY, 0600);
  size_t most = SIZE_MAX / 2 - 4095;
  while (copy_file_range(from, NULL, to, NULL, most, 0) > 0) {
  }
  copy_file_range(from, NULL, from, NULL, most, 0);
  char data[10];
  while (read(from, data, sizeof data) > 0) {
  }
  return 0;
}

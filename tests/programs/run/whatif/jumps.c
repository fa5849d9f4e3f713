#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
// Writes here and there, and looks whether positions, sizes and lengths are as they would be.
int main(int count, char** words) {
  char block[4096], back[4096];
  memset(block, 'n', sizeof block);
  const int fd = open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
  for (int i = 0; i < 50; ++i) {
    if (pwrite(fd, block, sizeof block, (off_t)((i * 37) % 50) * 8192) != sizeof block) return 1;
  }
  if (lseek(fd, 0, SEEK_END) != 49 * 8192 + 4096) return 2;
  if (lseek(fd, 100, SEEK_SET) != 100 || write(fd, block, 10) != 10 || lseek(fd, 0, SEEK_CUR) != 110)
    return 3;
  if (pread(fd, back, sizeof back, 8192) != sizeof back || back[0] != 'n') return 4;
  if (pread(fd, back, sizeof back, 49 * 8192 + 4096) != 0) return 5;
  if (fsync(fd) != 0 || ftruncate(fd, 500) != 0 || lseek(fd, 0, SEEK_END) != 500) return 6;
  return close(fd) == 0 && count > 0 ? 0 : 7;
}

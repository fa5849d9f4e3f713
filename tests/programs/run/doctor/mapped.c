// build: -O1
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int count, char** words) {
  int fd = open("mapped.out", O_RDWR | O_CREAT, 0600);
  if (ftruncate(fd, 4096) != 0) return 1;
  char* at = mmap(0, 4096, PROT_READ | PROT_WRITE, count > 1 ? MAP_PRIVATE : MAP_SHARED, fd, 0);
  char* nobodys = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED || nobodys == MAP_FAILED || (at[0] = nobodys[0] = words[0][0]) == 0;
}

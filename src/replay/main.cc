// sluice-replay /proc/PID/fd/N FOLDER: started by `sluice replay`, which has the steps in that memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "replay/worker.h"

int main(int count, char** words) {
  if (count != 3) {
    std::fputs("sluice-replay is for sluice replay alone\n", stderr);
    return 2;
  }
  const int fd = open(words[1], O_RDWR | O_CLOEXEC);
  struct stat about {};
  if (fd < 0 || fstat(fd, &about) != 0) {
    std::perror(words[1]);
    return 1;
  }
  void* memory =
      mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED || chdir(words[2]) != 0) {
    std::perror(words[2]);
    return 1;
  }
  close(fd);
  return sluice::run_strands(*static_cast<sluice::Script*>(memory));
}

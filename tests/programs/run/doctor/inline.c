// build: -O1
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char** words) {
  int fd = open("inline.out", O_WRONLY | O_CREAT, 0600);
  for (int i = 0; i < 7; ++i) {
    long done;
#ifdef __x86_64__
    if (count == 1)
      __asm__ volatile("syscall"
                       : "=a"(done)
                       : "a"(SYS_write), "D"(fd), "S"(words[0]), "d"(1)
                       : "rcx", "r11", "memory");
    else
#endif
      done = syscall(SYS_write, fd, words[0], 1);
    if (done != 1) return 1;
  }
  return write(fd, words[0], 1) != 1;
}

#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
static volatile int bad = 0;
static void handler(int signal) {
  struct stat found;
  const int fd = open("small.a", O_WRONLY | O_CREAT, 0600);
  if (fd < 0 || write(fd, "x", 1) != 1 || stat("small.a", &found) != 0 || found.st_size != 1) bad = 1;
  if (close(fd) != 0 || rename("small.a", "small.b") != 0 || access("small.b", F_OK) != 0) bad = 2;
  const int other = open("./small.c", O_WRONLY | O_CREAT, 0600);
  if (other < 0 || close(other) != 0 || access("./small.c", F_OK) != 0 || unlink("./small.c") != 0) bad = 3;
}
int main(void) {
  // What is below it must not be touched.
  char* memory = mmap(NULL, 3 * 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(memory + 8192, 8192, PROT_READ | PROT_WRITE);
  const stack_t stack = {.ss_sp = memory + 8192, .ss_flags = 0, .ss_size = 8192};
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  if (sigaltstack(&stack, NULL) != 0) return 77;
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
  return bad;
}

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
// Writes "kept N" ten times, then waits; "both" kills Sluice and itself.
int main(int count, char** words) {
  const int fd = open(words[1], O_WRONLY | O_CREAT, 0644);
  for (int i = 0; i < 10; ++i) {
    char text[32];
    const int length = snprintf(text, sizeof text, "kept %d\n", i);
    if (write(fd, text, length) != length) return 1;
  }
  if (count > 2 && strcmp(words[2], "both") == 0) {
    kill(getppid(), SIGKILL);
    kill(getpid(), SIGKILL);
  }
  creat("ready", 0600);
  pause();
  return 0;
}

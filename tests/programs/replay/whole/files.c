#include <fcntl.h>
#include <stdio.h>
int main(void) {
  char name[20];
  for (int i = 0; i < 200; ++i) {
    sprintf(name, "open%d", i);
    open(name, O_CREAT | O_WRONLY, 0600);
  }
  return 0;
}

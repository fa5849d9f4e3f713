// build: -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char** words) {
  char text[PATH_MAX];
  const long size = readlink(words[1], text, count * 100);
  printf("%ld %d %s", size, errno, realpath(words[1], text));
  return 0;
}

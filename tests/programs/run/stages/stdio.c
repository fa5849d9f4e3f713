#include <errno.h>
#include <stdio.h>
#include <string.h>
int main(void) {
  FILE* file = fopen("data/stdio", "w+");
  for (int i = 0; i < 10000; ++i) fprintf(file, "line %d\n", i);
  int failed = fflush(file) != 0 || ferror(file);
  if (failed) printf("%s\n", strerror(errno));
  rewind(file);
  char line[64] = "";
  if (!failed && fseek(file, 7, SEEK_SET) == 0 && fgets(line, sizeof line, file)) fputs(line, stdout);
  return fclose(file) != 0 || failed;
}

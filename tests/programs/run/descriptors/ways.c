// build: -O1
#define _FILE_OFFSET_BITS 64
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wordexp.h>
ssize_t __write(int, const void*, size_t);
ssize_t __read(int, void*, size_t);
off_t __lseek(int, off_t, int);
int __xmknod(int, const char*, mode_t, dev_t*);
static void make(const char* path) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (write(fd, "hello", 5) != 5) perror("write");
  close(fd);
}
int main(void) {
  int fd = open("data/appended", O_RDWR | O_CREAT | O_TRUNC, 0644);
  for (int i = 0; i < 40; ++i)
    if (write(fd, "line....", 8) != 8) return 1;
  FILE* file = fdopen(fd, "a");
  setvbuf(file, NULL, _IONBF, 0);
  for (int i = 0; i < 4; ++i) {
    lseek(fd, 0, SEEK_SET);
    fputs("record--", file);
  }
  fclose(file);
  file = fopen("data/appended", "a");
  printf("begins at %ld\n", ftell(file));
  fclose(file);
  file = fopen("data/appended", "a+");
  printf("and at %ld\n", ftell(file));
  fclose(file);

  fd = open("data/inner", O_RDWR | O_CREAT | O_TRUNC, 0644);
  for (int i = 0; i < 40; ++i)
    if (write(fd, "a", 1) != 1) return 1;
  if (__write(fd, "B", 1) != 1) return 1;
  for (int i = 0; i < 5; ++i)
    if (write(fd, "c", 1) != 1) return 1;
  __lseek(fd, 0, SEEK_SET);
  char bytes[64] = "";
  printf("%zd %s\n", __read(fd, bytes, 63), bytes);
  close(fd);

  mkdir("data/folder", 0755);
  make("data/folder/a");
  make("data/folder/b");
  char* paths[] = {"data/folder", NULL};
  FTS* tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
  int seen = 0;
  for (FTSENT* entry; (entry = fts_read(tree)) != NULL;) seen += entry->fts_info == FTS_F;
  fts_close(tree);
  make("data/folder/c");
  wordexp_t words;
  wordexp("data/folder/*", &words, 0);
  printf("%d files, %zu words\n", seen, words.we_wordc);
  make("data/folder/d");
  dev_t none = 0;
  const int made = __xmknod(0, "data/folder/d", S_IFIFO | 0600, &none);
  printf("mknod %d %s\n", made, made == 0 ? "" : strerror(errno));
  return 0;
}

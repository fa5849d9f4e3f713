// Further names that libc has for calls that are ours: its inner ones, which old programs and libraries link
// to, and those of old headers.
#include <fcntl.h>
#include <fts.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wordexp.h>

#include "fronts/preload/export.h"
#include "fronts/preload/file.h"
#include "fronts/preload/pending.h"

using sluice::preload::is_keeping;
using sluice::preload::put_down_all;

// NOLINTBEGIN(bugprone-reserved-identifier)
SLUICE_EXPORT int __open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
  va_end(list);
  return open(path, flags, mode);
}
SLUICE_ALIAS(int, __open64, __open, (const char*, int, ...));
SLUICE_EXPORT int __close(int fd) {
  return close(fd);
}
SLUICE_EXPORT ssize_t __read(int fd, void* data, size_t length) {
  return read(fd, data, length);
}
SLUICE_EXPORT ssize_t __write(int fd, const void* data, size_t length) {
  return write(fd, data, length);
}
SLUICE_EXPORT ssize_t __pread64(int fd, void* data, size_t length, off64_t offset) {
  return pread(fd, data, length, offset);
}
SLUICE_EXPORT ssize_t __pwrite64(int fd, const void* data, size_t length, off64_t offset) {
  return pwrite(fd, data, length, offset);
}
SLUICE_EXPORT off_t __lseek(int fd, off_t offset, int whence) {
  return lseek(fd, offset, whence);
}
SLUICE_ALIAS(off64_t, llseek, __lseek, (int, off64_t, int));
SLUICE_EXPORT int __fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  return fcntl(fd, command, argument);
}
SLUICE_EXPORT int __dup2(int fd, int other) {
  return dup2(fd, other);
}
SLUICE_EXPORT pid_t __vfork() {
  return vfork();
}
SLUICE_EXPORT FILE* _IO_fopen(const char* path, const char* mode) {
  return fopen(path, mode);
}
SLUICE_EXPORT FILE* _IO_fdopen(int fd, const char* mode) {
  return fdopen(fd, mode);
}
SLUICE_EXPORT FILE* _IO_popen(const char* command, const char* mode) {
  return popen(command, mode);
}
SLUICE_EXPORT int __xmknod(int, const char* path, mode_t mode, dev_t* device) {
  return mknod(path, mode, *device);
}
SLUICE_EXPORT int __xmknodat(int, int folder, const char* path, mode_t mode, dev_t* device) {
  return mknodat(folder, path, mode, *device);
}
// NOLINTEND(bugprone-reserved-identifier)

// These look into folders by themselves.
SLUICE_EXPORT FTS64* fts64_open(char* const* paths, int flags,
                                int (*compares)(const FTSENT64**, const FTSENT64**)) {
  if (is_keeping()) [[unlikely]] {
    put_down_all();
  }
  return SLUICE_NEXT(fts64_open)(paths, flags, compares);
}
SLUICE_EXPORT int wordexp(const char* words, wordexp_t* out, int flags) {
  if (is_keeping()) [[unlikely]] {
    put_down_all();
  }
  return SLUICE_NEXT(wordexp)(words, out, flags);
}

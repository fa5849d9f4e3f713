// The functions below ours: those of libc, or of another library that was preloaded after us. Before our
// constructor has run, while others' constructors do, they are bare system calls.
#pragma once

#include <stdio.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>

namespace sluice::preload {

struct Real {
  int (*open)(const char*, int, ...);
  int (*openat)(int, const char*, int, ...);
  int (*open_2)(const char*, int);
  int (*openat_2)(int, const char*, int);
  int (*close)(int);
  void (*closefrom)(int);
  int (*close_range)(unsigned, unsigned, int);
  ssize_t (*read)(int, void*, size_t);
  ssize_t (*pread)(int, void*, size_t, off_t);
  ssize_t (*readv)(int, const iovec*, int);
  ssize_t (*preadv)(int, const iovec*, int, off_t);
  ssize_t (*preadv2)(int, const iovec*, int, off_t, int);
  ssize_t (*write)(int, const void*, size_t);
  ssize_t (*pwrite)(int, const void*, size_t, off_t);
  ssize_t (*writev)(int, const iovec*, int);
  ssize_t (*pwritev)(int, const iovec*, int, off_t);
  ssize_t (*pwritev2)(int, const iovec*, int, off_t, int);
  off_t (*lseek)(int, off_t, int);
  int (*fsync)(int);
  int (*fdatasync)(int);
  int (*ftruncate)(int, off_t);
  int (*truncate)(const char*, off_t);
  int (*fallocate)(int, int, off_t, off_t);
  int (*posix_fallocate)(int, off_t, off_t);
  ssize_t (*copy_file_range)(int, off_t*, int, off_t*, size_t, unsigned);
  ssize_t (*sendfile)(int, int, off_t*, size_t);
  ssize_t (*splice)(int, off_t*, int, off_t*, size_t, unsigned);
  int (*ioctl)(int, unsigned long, ...);
  int (*dup)(int);
  int (*dup2)(int, int);
  int (*dup3)(int, int, int);
  int (*fcntl)(int, int, ...);
  FILE* (*fopen)(const char*, const char*);
  FILE* (*freopen)(const char*, const char*, FILE*);
  int (*mkostemps)(char*, int, int);
  pid_t (*fork)();
  void (*longjmp)(void*, int);
  void (*siglongjmp)(void*, int);
  void (*longjmp_chk)(void*, int);
  long (*syscall)(long, ...);
};

extern constinit Real real;

// One that is not in the table. All of them lie in a section of their own (SLUICE_NEXT), for find_real().
struct Next {
  const char* name;
  std::atomic<void*> found;
};
void* next_function(Next& one);

// Looks all functions up: later that could wait for a thread that loads a library, which has the loader's
// lock and may wait for us. REQUIRES: once, before there are threads.
void find_real();

}  // namespace sluice::preload

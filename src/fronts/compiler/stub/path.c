/* The path that a program opens instead of the one it was written with, asked of libsluice where there is
 * one. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "fronts/compiler/stub/stub.h"

typedef const char* (*path_function)(const char*, const char*, int, unsigned long);

extern __typeof__(dlsym) dlsym __attribute__((weak)); /* an older libc has it elsewhere */

typedef void* (*open_function)(const char*, int);
typedef char* (*error_function)(void);

static _Atomic(path_function) found;
static atomic_bool looked;

/* A program that is linked statically has no loader, and loading into it would bring a second libc. */
static bool can_load(void) {
  return dlsym != NULL && getauxval(AT_BASE) != 0;
}

static path_function look(void) {
  const char* name = "libsluice.so.0";
  const char* given = getenv("SLUICE_LIBRARY");
  void* library = NULL;
  void* symbol = NULL;
  open_function load = NULL;
  error_function clear = NULL;
  path_function out = NULL;
  if (!can_load() || getauxval(AT_SECURE) != 0) {
    return NULL; /* neither what a user says nor what a user has configured counts in a set-id program */
  }
  if (given != NULL && given[0] != '\0') {
    name = given;
  }
  /* By name: where a reference to dlopen itself is linked statically, the linker warns of it. */
  symbol = dlsym(RTLD_DEFAULT, "dlopen");
  memcpy(&load, &symbol, sizeof load);
  symbol = dlsym(RTLD_DEFAULT, "dlerror");
  memcpy(&clear, &symbol, sizeof clear);
  if (load != NULL) {
    library = load(name, RTLD_NOW | RTLD_LOCAL);
  }
  symbol = library != NULL ? dlsym(library, "sluice_path") : NULL;
  if (symbol == NULL && clear != NULL) {
    (void)clear(); /* the program must not find our failure in it */
  }
  memcpy(&out, &symbol, sizeof out);
  return out;
}

/* Two threads that come first at once both look, and find the same: no lock that a fork could leave held. */
static path_function library_path(void) {
  if (!atomic_load_explicit(&looked, memory_order_acquire)) {
    atomic_store_explicit(&found, look(), memory_order_relaxed);
    atomic_store_explicit(&looked, true, memory_order_release);
  }
  return atomic_load_explicit(&found, memory_order_relaxed);
}

const char* sluice_stub_path(const char* path, const char* words, int how, unsigned long argument) {
  const int number = errno;
  const char* out = NULL;
  path_function function;
  if (path == NULL) {
    return NULL;
  }
  function = library_path();
  if (function != NULL) {
    out = function(path, words, how, argument);
  }
  errno = number;
  return out != NULL ? out : path;
}

const char* sluice_stub_pathat(int folder, const char* path, const char* words, int how,
                               unsigned long argument) {
  if (path == NULL || (folder != AT_FDCWD && path[0] != '/')) {
    return path;
  }
  return sluice_stub_path(path, words, how, argument);
}

/* Sluice: the C interface. Stable: structures carry their size and only grow at the end; functions are added,
 * never changed.
 *
 * All functions may be called from any thread, from constructors, and in children of fork. None of them exits
 * or raises a signal. Where a file cannot be placed the path is used as it is, and that is said once in a
 * process, on standard error; nothing else is printed. */
#ifndef SLUICE_SLUICE_H
#define SLUICE_SLUICE_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SLUICE_API __attribute__((visibility("default")))
#else
#define SLUICE_API
#endif

/* "0.1.0"; never freed. */
SLUICE_API const char* sluice_version(void);

/* Why a call failed. Set `size` to sizeof(struct sluice_failure) before the call. */
struct sluice_failure {
  size_t size;
  int number;         /* errno, or 0 */
  unsigned column;    /* in the words that were given, from 1; 0 where it does not apply */
  char message[1024]; /* for people, always terminated */
};

/* Checks the words of an intent and writes their canonical form into `out` (always terminated when out_size
 * is not 0; cut when it is too small). Returns the length of the canonical form without the terminator, or
 * -1. `why` may be NULL. */
SLUICE_API int sluice_intent_normalize(const char* words, char* out, size_t out_size,
                                       struct sluice_failure* why);

/* The plan for an intent on the storage of this machine, as the JSON text that `sluice advise --json` prints.
 * The caller releases it with sluice_free. NULL on failure. A plan whose "chosen" is null is no failure. */
SLUICE_API char* sluice_advise(const char* words, struct sluice_failure* why);

SLUICE_API void sluice_free(void* memory);

/* Says what a file is for: the one at `path` or, where that ends in '/', all below it. For this process and
 * the children it forks; stronger than pragmas, attributes and rules. Said again, it replaces what was said
 * of the same path before. 0, or -1. */
SLUICE_API int sluice_declare(const char* path, const char* words, struct sluice_failure* why);

/* The same of an open file. It stays where it is; the kernel is told what it has ears for: the pattern,
 * reuse, prefetch, the kind of a stream, and the priority, which is the calling thread's from then on. 0, or
 * -1. */
SLUICE_API int sluice_declare_fd(int fd, const char* words, struct sluice_failure* why);

/* The plan for a path by all that is said of it (and by `words`, which may be NULL), as JSON text; the caller
 * releases it with sluice_free. NULL on failure. */
SLUICE_API char* sluice_plan(const char* path, const char* words, struct sluice_failure* why);

/* As open(2), through the plan: a file that is created goes where its plan says, and a link at the path leads
 * there. `words` may be NULL. -1 with errno, and with `why`, which may be NULL. */
SLUICE_API int sluice_open(const char* path, int flags, mode_t mode, const char* words,
                           struct sluice_failure* why);

/* clang-format off */
/* For whoever opens by itself: the path to open in place of this one, which is the same pointer where it
 * stays as it is; another one is never freed. `argument` says what the open is going to do, by `how`:
 *   0  nothing: it may create the file
 *   1  the flags of open(2)
 *   2  a pointer to fopen's mode
 *   3  the bits of a C++ stream's openmode
 * Words that are wrong are said once, and the path stays as it is. errno is left alone. */
/* clang-format on */
SLUICE_API const char* sluice_path(const char* path, const char* words, int how, unsigned long argument);

/* Of an open file: these bytes are wanted soon; these are not wanted any more and may leave memory, after
 * they are written. A length of 0 is to the end. 0, or an error number. */
SLUICE_API int sluice_will_need(int fd, off_t offset, off_t length);
SLUICE_API int sluice_done_with(int fd, off_t offset, off_t length);

#ifdef __cplusplus
}
#endif

#endif

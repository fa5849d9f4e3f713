/* Sluice: the C interface. Stable: structures carry their size and only grow at the end; functions are added,
 * never changed.
 *
 * All functions may be called from any thread. None of them prints, exits or raises a signal. */
#ifndef SLUICE_SLUICE_H
#define SLUICE_SLUICE_H

#include <stddef.h>

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

#ifdef __cplusplus
}
#endif

#endif

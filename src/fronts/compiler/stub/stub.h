/* What compiled programs call where a pragma stands. Linked into the program or library itself; it needs libc
 * alone, prints nothing, keeps errno, and gives the path back as it came wherever it can do nothing better.
 *
 * All functions may be called from any thread. `how` says what `argument` is: 0 nothing, 1 the flags of
 * open(2), 2 the pointer to fopen's mode, 3 the bits of an iostream's openmode. */
#ifndef SLUICE_STUB_H
#define SLUICE_STUB_H

#ifdef __cplusplus
extern "C" {
#endif

/* Every program and library has its own. */
#pragma GCC visibility push(hidden)

/* At run time: asks sluice_path() of libsluice, where that is installed. */
const char* sluice_stub_path(const char* path, const char* words, int how, unsigned long argument);
/* The same for a path that may be relative to an open folder, which is left alone. */
const char* sluice_stub_pathat(int folder, const char* path, const char* words, int how,
                               unsigned long argument);

/* Chosen when it was compiled: a path that does not exist and is about to be created becomes a link to a file
 * of the same name in a folder of its own in `place`. The path comes back as it was. */
const char* sluice_stub_link(const char* path, const char* place, int how, unsigned long argument);
const char* sluice_stub_linkat(int folder, const char* path, const char* place, int how,
                               unsigned long argument);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif

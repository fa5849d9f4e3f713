/* A stage of Sluice's pipeline: what a shared library needs to define to be one.
 *
 * A program's I/O passes a stack of stages as activities, one operation each. A stage sees the operations
 * that it names, may change, merge, split, absorb or add some, and calls the next stage; the last one
 * performs them.
 *
 * A library exports `const struct sluice_stage sluice_stage` and is loaded where it is named with a '/' in
 * it: `sluice run --stage ./mine.so -- CMD`. Structures carry their size and only grow at the end.
 *
 * Threads: `act` is called from any thread of the program, several at a time, also from its signal handlers.
 * It must not call exit, and what it opens, reads or writes itself passes no stage (nor does what a handler
 * does that interrupts it). */
#ifndef SLUICE_STAGE_H
#define SLUICE_STAGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_STAGE_VERSION 1

enum sluice_operation {
  SLUICE_OPEN,     /* target, flags, mode; the result is a descriptor; length becomes 1 where it only stands
                      for a file that is none of the kernel's yet */
  SLUICE_CLOSE,    /* of the last descriptor of an open file; -1 by dup2(): nothing can be added then */
  SLUICE_READ,     /* data, length, offset */
  SLUICE_WRITE,    /* data, length, offset */
  SLUICE_SEEK,     /* offset, flags (whence); the result is the new position */
  SLUICE_SYNC,     /* flags: 1 = the data alone */
  SLUICE_TRUNCATE, /* length */
  SLUICE_ALLOCATE, /* offset, length, flags (mode of fallocate) */
  SLUICE_OPERATIONS,

  /* Not the program's: something that passes no stage is about to look at the file. Whoever keeps something
   * back writes it out now. flags: SLUICE_SETTLE_... The result is 0, or 1 where the stage has done itself
   * what was asked. */
  SLUICE_SETTLE = 16,

  /* A hint of the program about the file, which the kernel has got already. offset and length (0 = to the
   * end) say where; flags: POSIX_FADV_..., also where it came by madvise(), or SLUICE_ADVISE_... The result
   * is 0. */
  SLUICE_ADVISE = 17,

  /* What changes names, of files that may be open or not: file_state is NULL, and nothing may be kept there.
   * path is the name, flags what the call was given; the result is 0. They can be passed on or not, and
   * cannot be added. */
  SLUICE_REMOVE = 18, /* flags: AT_REMOVEDIR where it is to be a folder */
  SLUICE_RENAME = 19, /* target: the new name, absolute */
  SLUICE_LINK = 20,   /* target: the further name, absolute */
  SLUICE_MAKE_FOLDER = 21,
  /* The names in a folder are to be safe; flags as those of SLUICE_SYNC. */
  SLUICE_SYNC_FOLDER = 22
};
#define SLUICE_BIT(operation) (UINT32_C(1) << (operation))
/* Of all that a program does. */
#define SLUICE_ALL (SLUICE_BIT(SLUICE_OPERATIONS) - 1)
/* Of all that it does to names. */
#define SLUICE_NAMES                                                                 \
  (SLUICE_BIT(SLUICE_REMOVE) | SLUICE_BIT(SLUICE_RENAME) | SLUICE_BIT(SLUICE_LINK) | \
   SLUICE_BIT(SLUICE_MAKE_FOLDER) | SLUICE_BIT(SLUICE_SYNC_FOLDER))

#define SLUICE_SETTLE_POSITION 1 /* the kernel's position of the file is to be right, too */
#define SLUICE_SETTLE_RETIRE 3   /* and nothing of this open file is kept back from now on */
#define SLUICE_SETTLE_LOCK                                                                               \
  4                            /* only somebody who has the file open may be about to look; length: what \
                                  flock() is to do, 0 = another kind of lock */
#define SLUICE_SETTLE_LEAVE 8  /* this process lets go of it, others that share it may not */
#define SLUICE_SETTLE_SHARE 16 /* another descriptor, process or program is about to share it */
#define SLUICE_SETTLE_STAT 32  /* data: a struct stat, for what is said of it */
#define SLUICE_SETTLE_KIND 64  /* the same, and only kind, size and block size matter */

#define SLUICE_ADVISE_LIFETIME 256 /* and one of RWH_WRITE_LIFE_..., as fcntl(F_SET_RW_HINT) takes it */
#define SLUICE_ADVISE_PRIORITY 512 /* and a class of ioprio_set(): 1 realtime, 2 best-effort, 3 idle */

/* Read or write where the file's own position is, and move it. */
#define SLUICE_AT_POSITION INT64_C(-1)

/* One operation. `data` of a write is not to be changed: a stage that wants other bytes passes on other
 * memory. */
struct sluice_activity {
  uint32_t size;      /* of this structure */
  uint32_t operation; /* enum sluice_operation */
  int32_t descriptor; /* of the file; of an open: of the folder that target is relative to */
  int32_t flags;
  uint32_t mode;
  int32_t error;  /* errno, where result is -1 */
  int64_t result; /* what the call returns; set by whoever performs it */
  int64_t offset; /* or SLUICE_AT_POSITION */
  uint64_t length;
  void* data;         /* NULL where only stages that leave data and calls alone see it: a vector, whose
                         length is not told, or a copy that the kernel makes between two files */
  const char* path;   /* of the file, absolute, as the program named it; never NULL */
  const char* target; /* of an open: what is opened; a stage may set another; NULL where libc opens by itself,
                         and it can be no other. Of what changes names: see there */
};

/* Passes an activity on to the next stage, which sets result and error; the same as activity->result. */
struct sluice_next {
  int64_t (*act)(const struct sluice_next* next, struct sluice_activity* activity);
};

/* Its kinds: how far a stage must look, whether it changes what the program does, what it remembers, and
 * whether what others see stays as POSIX says. `sluice stages` has beside them what follows in the terms of
 * section 3.3 of Schmidtke's thesis. */
struct sluice_stage {
  uint32_t size;    /* of this structure */
  uint32_t version; /* SLUICE_STAGE_VERSION */
  const char* name;
  const char* summary;      /* one line */
  const char* scope;        /* activity, file, process, job */
  const char* interference; /* none, timing, data, calls */
  const char* state;        /* none, counters, buffers */
  const char* semantics;    /* kept, relaxed, broken */
  const char* parameters;   /* "NAME=DEFAULT what it is", a line each; "" = none */
  uint32_t operations;      /* SLUICE_BIT of each that it wants */
  uint32_t aside;           /* 1 = sees each as a copy, when it is done, and has no next */

  /* Once a process. `parameters` is, as long as the call lasts, what stood after ':' in its name, "" if
   * nothing. Returns 0 and sets *stage_state (which may stay NULL), or -1 and writes why into `error`. May be
   * NULL where there are no parameters. */
  int (*start)(const char* parameters, void** stage_state, char* error, size_t error_size);
  /* One operation. `*file_state` is NULL at the first one of a file, and the stage's own until after
   * SLUICE_CLOSE. */
  int64_t (*act)(void* stage_state, void** file_state, struct sluice_activity* activity,
                 const struct sluice_next* next);
  /* NULL, or which of `operations` this one wants, by its parameters; asked once, after start(). Not there in
   * libraries that were built before it was. */
  uint32_t (*wants)(void* stage_state);
};

#ifdef __cplusplus
}
#endif

#endif

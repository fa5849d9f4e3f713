// build: -O1 -pthread
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { threads = 1100, flood = 400000, handled = 200 };

static pthread_barrier_t all_there;
static volatile int done;
static int file, other;
static sigjmp_buf back;

/* Each has a call before all others, and one after all: all of them live at once. */
static void* thread(void* number) {
  if (pwrite(file, "1", 1, (long)number) != 1) abort();
  pthread_barrier_wait(&all_there);
  if (pwrite(file, "2", 1, (long)number) != 1) abort();
  return NULL;
}

static void handler(int signal) {
  if (done < handled) {
    done = done + 1;
    if (pwrite(other, "h", 1, 0) != 1) abort();
  }
  if (signal == SIGUSR1) siglongjmp(back, 1);
}

int main(int count, char** words) {
  if (count < 2) return 2;
  file = open("file", O_CREAT | O_RDWR, 0600);
  other = open("other", O_CREAT | O_RDWR, 0600);
  if (strcmp(words[1], "threads") == 0) {
    static pthread_t all[threads];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&all_there, NULL, threads);
    for (long i = 0; i < threads; ++i) {
      if (pthread_create(&all[i], &small, thread, (void*)i) != 0) return 77;
    }
    for (long i = 0; i < threads; ++i) pthread_join(all[i], NULL);
  } else if (strcmp(words[1], "flood") == 0) {
    for (long i = 0; i < flood; ++i) lseek(file, i, SEEK_SET);
    kill(getpid(), SIGKILL);
  } else if (strcmp(words[1], "signals") == 0) {
    const struct itimerval soon = {{0, 200}, {0, 200}};
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &soon, NULL);
    long calls = 0;
    for (; done < handled; ++calls) lseek(file, calls, SEEK_SET);
    printf("%ld\n", calls);
  } else if (strcmp(words[1], "jumps") == 0) {
    for (volatile int i = 0; i < handled; ++i) {
      signal(SIGUSR1, handler);
      if (sigsetjmp(back, 1) == 0) raise(SIGUSR1);
    }
  } else if (strcmp(words[1], "chain") == 0) {
    const int left = atoi(words[2]);
    char next[16];
    snprintf(next, sizeof next, "%d", left - 1);
    if (left > 0) execl(words[0], words[0], "chain", next, NULL);
  } else {
    for (int i = 0; i < 300; ++i) {
      if (fork() == 0) {
        if (pwrite(file, "c", 1, i) != 1) abort();
        kill(getpid(), SIGKILL);
      }
    }
    while (wait(NULL) > 0) {
    }
  }
  return 0;
}

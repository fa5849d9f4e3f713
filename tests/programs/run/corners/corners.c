// build: -O1 -pthread
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int fd;
static volatile int handled;
static sigjmp_buf away;

static void lines(const char* text, int count) {
  for (int i = 0; i < count; ++i) {
    if (write(fd, text, strlen(text)) != (ssize_t)strlen(text)) abort();
  }
}
static void timer(int first, int every) {
  const struct itimerval time = {{0, every}, {0, first}};
  setitimer(ITIMER_REAL, &time, NULL);
}
/* Signals of this thread alone, whose handler writes; so many microseconds after the one before was handled,
   so that the thread gets on, however slow its machine is. */
static struct {
  timer_t timer;
  long every;
} timers[2];
static void writes(int signal) {
  const int which = signal == SIGUSR1 ? 0 : 1;
  const struct itimerspec time = {.it_value = {0, timers[which].every * 1000}};
  __atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
  lines("handler\n", 1);
  if (signal != SIGALRM) timer_settime(timers[which].timer, 0, &time, NULL);
}
static void own_timer(int number, int every, int flags) {
  const int which = number == SIGUSR1 ? 0 : 1;
  struct sigaction action = {.sa_handler = writes, .sa_flags = SA_RESTART | flags};
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number};
  const struct itimerspec time = {.it_value = {0, every * 1000}};
  timers[which].every = every;
  event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
  sigaction(number, &action, NULL);
  if (timer_create(CLOCK_MONOTONIC, &event, &timers[which].timer) != 0 ||
      timer_settime(timers[which].timer, 0, &time, NULL) != 0)
    abort();
}
static void* with_handlers(void* stack) {
  stack_t other = {.ss_sp = stack, .ss_size = 65536};
  sigset_t both;
  sigemptyset(&both);
  sigaddset(&both, SIGUSR1);
  sigaddset(&both, SIGUSR2);
  if (stack != NULL && sigaltstack(&other, NULL) != 0) abort();
  own_timer(SIGUSR1, 130, stack != NULL ? SA_ONSTACK : 0);
  own_timer(SIGUSR2, stack != NULL ? 170 : 30, stack != NULL ? SA_ONSTACK : 0);
  lines("main\n", 1000000);
  pthread_sigmask(SIG_BLOCK, &both, NULL);
  return NULL;
}
static void jumps(int signal) {
  (void)signal;
  siglongjmp(away, 1);
}
/* Within itself; what it interrupted goes on. */
static void jumps_inside(int signal) {
  sigjmp_buf own;
  (void)signal;
  if (sigsetjmp(own, 1) == 0) siglongjmp(own, 1);
}
static void* one_line(void* unused) {
  lines("line\n", 1);
  return unused;
}
static void* forever(void* unused) {
  for (;;) lines("thread\n", 1);
  return unused;
}

int main(int count, char** words) {
  (void)count;
  const char* what = words[1];
  fd = open("out", O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (strcmp(what, "orphan") == 0) { /* the parent closes, the child goes on */
    int ends[2];
    char byte;
    lines("line\n", 1000);
    if (pipe(ends) != 0) return 1;
    if (fork() == 0) {
      if (read(ends[0], &byte, 1) != 1) _exit(1);
      lines("line\n", 1000);
      _exit(0);
    }
    close(fd);
    if (write(ends[1], "x", 1) != 1) return 1;
    wait(NULL);
    puts("2000");
  } else if (strcmp(what, "daemon") == 0) { /* the parent ends, the child goes on */
    int ends[2];
    lines("line\n", 500);
    if (pipe(ends) != 0) return 1;
    if (fork() == 0) {
      if (daemon(1, 1) != 0) _exit(1);
      lines("line\n", 500);
      close(fd);
      if (write(ends[1], "x", 1) != 1) _exit(1);
      _exit(0);
    }
    char byte;
    if (read(ends[0], &byte, 1) != 1) return 1;
    puts("1000");
  } else if (strcmp(what, "handler") == 0) {
    signal(SIGALRM, writes);
    timer(50, 50);
    lines("main\n", 200000);
    timer(0, 0);
    close(fd);
    printf("%d\n", 200000 + handled);
  } else if (strcmp(what, "handlers") == 0 || strcmp(what, "above") == 0) {
    /* several in one call; on a stack that lies above the thread's own */
    pthread_attr_t attributes;
    pthread_t thread;
    const size_t own = 1 << 20;
    char* stacks = mmap(NULL, own + 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stacks, own);
    if (pthread_create(&thread, &attributes, with_handlers, *what == 'a' ? stacks + own : NULL) != 0)
      return 1;
    pthread_join(thread, NULL);
    close(fd);
    printf("%d\n", 1000000 + handled);
  } else if (strcmp(what, "jump") == 0) {
    signal(SIGALRM, jumps);
    for (volatile int i = 0; i < 200; ++i) {
      if (sigsetjmp(away, 1) == 0) {
        timer(300, 0);
        for (;;) lines("x", 1);
      }
    }
    lines("\nlast\n", 10);
    if (close(fd) != 0) return 1;
    puts("20");
  } else if (strcmp(what, "records") == 0) { /* a write that is jumped out of is whole, or there was none */
    char record[65] = "";
    memset(record, 'x', 63);
    record[63] = '\n';
    lines(record, 200);
    signal(SIGALRM, jumps);
    for (volatile int i = 0; i < 400; ++i) {
      if (sigsetjmp(away, 1) == 0) {
        timer(100 + i % 97, 0);
        for (;;) lines(record, 1);
      }
    }
    printf("%ld\n", (long)(lseek(fd, 0, SEEK_END) / 64));
  } else if (strcmp(what, "inside") == 0) {
    signal(SIGALRM, jumps_inside);
    timer(50, 50);
    lines("main\n", 200000);
    timer(0, 0);
    puts("200000");
  } else if (strcmp(what, "others") ==
             0) { /* another thread, or program, does not wait for who jumped away */
    for (volatile int i = 0; i < 20; ++i) {
      pthread_t thread;
      close(fd);
      fd = open("out", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
      signal(SIGALRM, jumps);
      if (sigsetjmp(away, 1) == 0) {
        timer(500 + i * 37, 0);
        for (;;) lines("line\n", 1);
      }
      signal(SIGALRM, SIG_DFL);
      alarm(30);
      if (i % 2 == 0) {
        if (pthread_create(&thread, NULL, one_line, NULL) != 0) return 1;
        pthread_join(thread, NULL);
      } else if (system("head -c 1 out >/dev/null") != 0) {
        return 1;
      }
      alarm(0);
    }
    printf("%ld\n", (long)(lseek(fd, 0, SEEK_END) / 5));
  } else if (strcmp(what, "cancel") == 0) {
    pthread_t thread;
    for (int i = 0; i < 20; ++i) {
      if (pthread_create(&thread, NULL, forever, NULL) != 0) return 1;
      usleep(2000);
      pthread_cancel(thread);
      pthread_join(thread, NULL);
    }
    fd = open("out", O_RDWR | O_TRUNC);
    lines("end\n", 1);
    puts("1");
  } else if (strcmp(what, "far") == 0) {
    const off_t places[] = {(off_t)1 << 62, INT64_MAX - 200, INT64_MAX};
    for (unsigned i = 0; i < 3; ++i) {
      if (pwrite(fd, "xxxx", 4, places[i]) != -1 || (errno != EFBIG && errno != EINVAL)) return 1;
    }
    lines("line\n", 100);
    if (close(fd) != 0) return 1;
    puts("100");
  }
  return 0;
}

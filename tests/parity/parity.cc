// Calls and combinations of them whose results can be told: each scenario prints what every call returned,
// its errno, and what the files hold at the end. The same program natively and under stages must print the
// same.
//
//   parity [SCENARIO...]     in an empty folder; all without arguments; --list names them
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "parity.h"

extern char** environ;

namespace {

void write_and_read() {
  const int fd = opened("a", O_RDWR | O_CREAT);
  const std::string data = pattern(1000);
  TELL(write(fd, data.data(), 10));
  TELL(write(fd, data.data() + 10, 990));
  TELL(write(fd, data.data(), 0));
  TELL(lseek(fd, 0, SEEK_CUR));
  char buffer[2000];
  READ(read(fd, buffer, sizeof buffer), buffer);
  TELL(lseek(fd, 3, SEEK_SET));
  READ(read(fd, buffer, sizeof buffer), buffer);
  TELL(lseek(fd, -10, SEEK_END));
  READ(read(fd, buffer, sizeof buffer), buffer);
  READ(pread(fd, buffer, 100, 950), buffer);
  READ(pread(fd, buffer, 100, 2000), buffer);
  READ(pread(fd, buffer, 100, -1), buffer);
  TELL(pwrite(fd, "x", 1, -5));
  TELL(lseek(fd, -5000, SEEK_CUR));
  TELL(lseek(fd, 0, 99));
  TELL(close(fd));
  TELL(close(fd));
  TELL(write(fd, "x", 1));
  show_file("a");
}

void own_writes_are_seen() {
  const int fd = opened("a", O_RDWR | O_CREAT);
  const int other = opened("a", O_RDWR);
  struct stat found {};
  for (int i = 0; i < 5; ++i) {
    TELL(write(fd, "0123456789", 10));
    fstat(fd, &found);
    say("  fstat size %lld", static_cast<long long>(found.st_size));
    stat("a", &found);
    say("  stat size %lld", static_cast<long long>(found.st_size));
    char buffer[100];
    READ(pread(other, buffer, sizeof buffer, 0), buffer);
    READ(pread(fd, buffer, 3, i * 10 + 2), buffer);
    say("  %.3s", buffer);
  }
  TELL(pwrite(other, "ABC", 3, 1));
  TELL(write(fd, "tail", 4));
  TELL(close(other));
  TELL(close(fd));
  show_file("a");
}

void vectors() {
  const int fd = opened("a", O_RDWR | O_CREAT);
  std::string large = pattern(100000);
  char one[] = "one ";
  char two[] = "two ";
  iovec parts[] = {{one, 4}, {two, 4}, {large.data(), large.size()}};
  TELL(writev(fd, parts, 2));
  TELL(writev(fd, parts, 3));
  TELL(writev(fd, parts, 0));
  TELL(writev(fd, parts, -1));
  TELL(pwritev(fd, parts, 3, 5));
  TELL(pwritev2(fd, parts, 2, -1, 0));
  TELL(pwritev2(fd, parts, 2, 3, RWF_DSYNC));
  char first[7];
  std::string rest(200000, 0);
  iovec in[] = {{first, sizeof first}, {rest.data(), rest.size()}};
  READ(preadv(fd, in, 2, 0) - 7, rest.data());
  say("  %.7s", first);
  TELL(lseek(fd, 2, SEEK_SET));
  READ(readv(fd, in, 2) - 7, rest.data());
  say("  %.7s", first);
  TELL(close(fd));
  show_file("a");
}

// Of one part, of none, and of more than can be gathered, on a file of which something is kept back.
void vectors_behind_small_writes() {
  std::string large = pattern(100000);
  std::string back(200000, 0);
  char one[] = "ONE.";
  const auto few = [&](int fd) {
    for (int i = 0; i < 40; ++i) {
      TELL(write(fd, "some ", 5));
    }
  };
  iovec single[] = {{one, 4}};
  iovec double_large[] = {{large.data(), large.size()}, {large.data(), large.size()}};
  iovec in_one[] = {{back.data(), 30}};
  iovec in_two[] = {{back.data(), 100000}, {back.data() + 100000, 100000}};
  const int fd = opened("a", O_RDWR | O_CREAT);
  few(fd);
  TELL(writev(fd, single, 1));
  few(fd);
  TELL(writev(fd, double_large, 2));
  few(fd);
  TELL(pwritev(fd, single, 1, 7));
  few(fd);
  TELL(pwritev2(fd, single, 1, -1, 0));
  few(fd);
  TELL(pwritev(fd, double_large, 2, 150));
  few(fd);
  READ(preadv(fd, in_one, 1, 3), back.data());
  say("  %.30s", back.c_str());
  few(fd);
  READ(preadv(fd, in_two, 2, 0), back.data());
  say("  %.30s", back.c_str());
  few(fd);
  TELL(writev(fd, single, 0));
  TELL(readv(fd, single, 0));
  few(fd);
  TELL(lseek(fd, 50, SEEK_SET));
  TELL(readv(fd, in_one, 1));
  say("  %.30s", back.c_str());
  TELL(close(fd));
  show_file("a");
  // And where it is the first that is read of a small file.
  for (const int count : {1, 2}) {
    const int small = opened("b", O_RDWR | O_CREAT | O_TRUNC);
    TELL(write(small, "small file", 10));
    TELL(preadv(small, count == 1 ? in_one : in_two, count, 0));
    say("  %.10s", back.c_str());
    TELL(close(small));
  }
  std::ofstream lines("c");
  for (int i = 0; i < 40; ++i) {
    lines << "line " << i << std::endl;
  }
  lines.write(large.data(), static_cast<std::streamsize>(large.size()));
  lines.close();
  show_file("c");
}

void direct_vectors() {
  const int fd = open("a", O_RDWR | O_CREAT | O_DIRECT, 0644);
  if (fd < 0) {
    say("  no O_DIRECT here");
    return;
  }
  auto* memory = static_cast<char*>(aligned_alloc(4096, 16384));
  std::memset(memory, 'd', 16384);
  iovec parts[] = {{memory, 4096}, {memory + 8192, 4096}};
  TELL(writev(fd, parts, 2));
  TELL(pwritev(fd, parts, 2, 4096));
  TELL(preadv(fd, parts, 2, 0));
  TELL(write(fd, memory, 4096));
  TELL(close(fd));
  std::free(memory);
  show_file("a");
}

void appended_vectors() {
  const std::string mine(40000, 'p');
  const std::string theirs(40000, 'c');
  const int fd = opened("log", O_WRONLY | O_CREAT | O_APPEND);
  std::fflush(stdout);
  const pid_t pid = fork();
  const std::string& text = pid == 0 ? theirs : mine;
  for (int i = 0; i < 100; ++i) {
    iovec parts[] = {{const_cast<char*>(text.data()), text.size()},
                     {const_cast<char*>(text.data()), text.size()}};
    if (writev(fd, parts, 2) != 80000) abort();
  }
  if (pid == 0) {
    _exit(0);
  }
  waitpid(pid, nullptr, 0);
  TELL(close(fd));
  std::ifstream in("log", std::ios::binary);
  std::string all((std::istreambuf_iterator<char>(in)), {});
  int torn = 0;
  for (std::size_t at = 0; at + 80000 <= all.size(); at += 80000) {
    torn += all.find_first_not_of(all[at], at) < at + 80000 ? 1 : 0;
  }
  say("  %zu bytes, %d torn", all.size(), torn);
}

void small_stacks() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 32768);
  pthread_t thread{};
  pthread_create(
      &thread, &attributes,
      [](void*) -> void* {
        const int fd = open("a", O_RDWR | O_CREAT, 0644);
        char text[] = "text";
        iovec parts[] = {{text, 2}, {text + 2, 2}};
        const ssize_t done = writev(fd, parts, 2);
        const int other = open("b", O_RDWR | O_CREAT, 0644);
        off_t offset = 0;
        const ssize_t sent = sendfile(other, fd, &offset, 4);
        return reinterpret_cast<void*>(done * 100 + sent);
      },
      nullptr);
  void* result = nullptr;
  pthread_join(thread, &result);
  say("  %ld", static_cast<long>(reinterpret_cast<std::intptr_t>(result)));
  pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
  for (int i = 0; i < 3; ++i) {
    pthread_create(
        &thread, &attributes,
        [](void* which) -> void* {
          const pid_t pid = fork();
          if (pid == 0) {
            char* const none[] = {nullptr};
            switch (reinterpret_cast<std::intptr_t>(which)) {
              case 0:
                execl("/bin/sh", "sh", "-c", "exit $#", "0", "1", nullptr);
                break;
              case 1:
                execlp("sh", "sh", "-c", "exit $#", "0", "1", "2", nullptr);
                break;
              default:
                execle("/bin/sh", "sh", "-c", "exit ${HOME:-4}", nullptr, none);
            }
            _exit(99);
          }
          int status = 0;
          waitpid(pid, &status, 0);
          return reinterpret_cast<void*>(static_cast<std::intptr_t>(status));
        },
        reinterpret_cast<void*>(static_cast<std::intptr_t>(i)));
    pthread_join(thread, &result);
    say("  %ld", static_cast<long>(reinterpret_cast<std::intptr_t>(result)));
  }
  show_file("a");
  show_file("b");
}

void cancelled() {
  std::ofstream("a") << "text";
  std::thread([] {
    FILE* file = std::fopen("a", "r");
    pthread_cancel(pthread_self());
    std::fclose(file);
    std::fputs("  closed\n", stdout);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  }).join();
}

void reopened() {
  FILE* file = std::fopen("a", "w");
  std::fputs("first", file);
  file = std::freopen("b", "w", file);
  std::fputs("second", file);
  file = std::freopen(nullptr, "a", file);
  if (file != nullptr) {
    std::fputs(" third", file);
    std::fclose(file);
  }
  show_file("a");
  show_file("b");
  say("  %s",
      std::freopen("no/file", "w", std::fopen("c", "w")) == nullptr ? strerrorname_np(errno) : "there");
}

void appending() {
  const int fd = opened("log", O_WRONLY | O_CREAT | O_APPEND);
  TELL(write(fd, "one\n", 4));
  TELL(lseek(fd, 0, SEEK_SET));
  TELL(write(fd, "two\n", 4));
  TELL(pwrite(fd, "end\n", 4, 0));
  TELL(lseek(fd, 0, SEEK_CUR));
  in_child([&] {
    for (int i = 0; i < 100; ++i) {
      if (write(fd, "child\n", 6) != 6) _exit(1);
    }
  });
  for (int i = 0; i < 100; ++i) {
    if (write(fd, "parent\n", 7) != 7) abort();
  }
  TELL(close(fd));
  show_file("log");
}

void duplicates() {
  const int fd = opened("a", O_RDWR | O_CREAT);
  const int copy = dup(fd);
  TELL(write(fd, "abc", 3));
  TELL(write(copy, "def", 3));
  TELL(lseek(fd, 0, SEEK_CUR));
  TELL(close(fd));
  TELL(write(copy, "ghi", 3));
  TELL(dup2(copy, 100));
  TELL(dup2(copy, copy) == copy);
  TELL(dup3(copy, copy, 0));
  TELL(write(100, "jkl", 3));
  const int third = fcntl(copy, F_DUPFD_CLOEXEC, 50);
  TELL(lseek(third, 1, SEEK_SET));
  TELL(write(copy, "X", 1));
  const int other = opened("b", O_WRONLY | O_CREAT);
  TELL(write(other, "other", 5));
  TELL(dup2(other, 100));
  TELL(write(100, "!", 1));
  TELL(dup2(-1, 100));
  TELL(close(100));
  TELL(close(third));
  TELL(close(copy));
  TELL(close(other));
  show_file("a");
  show_file("b");
}

void far_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit = {.rlim_cur = 70000, .rlim_max = std::max<rlim_t>(limit.rlim_max, 70000)};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return;
  }
  const int fd = opened("a", O_RDWR | O_CREAT);
  TELL(write(fd, "abc", 3));
  TELL(dup2(fd, 66000));
  TELL(write(66000, "def", 3));
  TELL(write(fd, "ghi", 3));
  TELL(lseek(66000, 1, SEEK_SET));
  TELL(write(fd, "X", 1));
  const int other = opened("b", O_RDWR | O_CREAT);
  TELL(write(other, "abc", 3));
  TELL(fcntl(other, F_DUPFD_CLOEXEC, 66000));
  TELL(fcntl(66001, F_GETFD));
  TELL(close(other));
  TELL(write(66001, "def", 3));
  TELL(close(66001));
  const int none = open("/dev/null", O_RDONLY);
  while (dup(none) < 65535) {
  }
  const int far = opened("c", O_RDWR | O_CREAT);
  TELL(far >= 65536);
  TELL(write(far, "far", 3));
  char text[8] = {};
  READ(pread(far, text, 3, 0), text);
  say("  %s", text);
  TELL(close(far));
  TELL(close(66000));
  TELL(close(fd));
  show_file("a");
  show_file("b");
  show_file("c");
}

void sizes_change() {
  const int fd = opened("a", O_RDWR | O_CREAT);
  TELL(write(fd, "0123456789", 10));
  TELL(ftruncate(fd, 4));
  TELL(write(fd, "x", 1));
  TELL(ftruncate(fd, 100));
  TELL(ftruncate(fd, -1));
  TELL(truncate("a", 50));
  TELL(lseek(fd, 0, SEEK_END));
  TELL(posix_fallocate(fd, 0, 200));
  TELL(lseek(fd, 0, SEEK_END));
  TELL(posix_fallocate(fd, -1, 10));
  TELL(posix_fallocate(fd, 0, 0));
  TELL(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 5000));
  TELL(fallocate(fd, 0, 0, -1));
  TELL(fsync(fd));
  TELL(fdatasync(fd));
  TELL(fsync(-1));
  TELL(close(fd));
  show_file("a");
}

void holes() {
  const int fd = opened("a", O_RDWR | O_CREAT);
  TELL(pwrite(fd, "end", 3, 1 << 20));
  TELL(write(fd, "begin", 5));
  TELL(lseek(fd, 0, SEEK_DATA));
  TELL(lseek(fd, 0, SEEK_END));
  TELL(lseek(fd, 10 << 20, SEEK_SET));
  TELL(write(fd, "z", 1));
  TELL(close(fd));
  show_file("a");
}

void names() {
  const int fd = opened("a", O_WRONLY | O_CREAT);
  TELL(write(fd, "before", 6));
  TELL(rename("a", "b"));
  TELL(write(fd, " after", 6));
  show_file("b");
  TELL(link("b", "c"));
  TELL(unlink("b"));
  TELL(write(fd, " more", 5));
  TELL(close(fd));
  show_file("c");
  const int gone = opened("gone", O_RDWR | O_CREAT);
  TELL(write(gone, "text", 4));
  TELL(unlink("gone"));
  char buffer[10];
  READ(pread(gone, buffer, 10, 0), buffer);
  TELL(close(gone));
  TELL(opened("a/b", O_RDONLY) < 0);
  TELL(opened("none", O_RDONLY) < 0);
  TELL(opened("c", O_WRONLY | O_CREAT | O_EXCL) < 0);
  TELL(opened(".", O_WRONLY) < 0);
  TELL(symlink("c", "link"));
  TELL(opened("link", O_RDONLY | O_NOFOLLOW) < 0);
  const int through = opened("link", O_WRONLY | O_APPEND);
  TELL(write(through, "!", 1));
  TELL(close(through));
  show_file("c");
}

void relative() {
  mkdir("d", 0755);
  mkdir("d/e", 0755);
  const int folder = open("d", O_RDONLY | O_DIRECTORY);
  const int fd = openat(folder, "e/../f", O_WRONLY | O_CREAT, 0600);
  TELL(write(fd, "one", 3));
  TELL(chdir("d"));
  const int same = opened("f", O_RDONLY);
  char buffer[10];
  READ(read(same, buffer, 10), buffer);
  TELL(close(same));
  TELL(close(fd));
  TELL(chdir(".."));
  TELL(openat(folder, "none", O_RDONLY));
  TELL(openat(-1, "f", O_RDONLY));
  const char* volatile none = nullptr;
  TELL(open(none, O_RDONLY));
  TELL(open("", O_RDONLY));
  TELL(open(std::string(5000, 'x').c_str(), O_RDONLY));
  TELL(close(folder));
  show_file("d/f");
}

void children() {
  const int fd = opened("a", O_RDWR | O_CREAT);
  TELL(write(fd, "parent ", 7));
  in_child([&] {
    TELL(write(fd, "child ", 6));
    TELL(lseek(fd, 0, SEEK_CUR));
    TELL(close(fd));
  });
  TELL(lseek(fd, 0, SEEK_CUR));
  TELL(write(fd, "again ", 6));
  std::fflush(stdout);
  if (vfork() == 0) {
    _exit(close(fd));
  }
  int status = 0;
  wait(&status);
  TELL(write(fd, "vfork ", 6));
  // Another program, with the file as its standard output.
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fd, 1);
  char name[] = "echo";
  char word[] = "spawned";
  char* words[] = {name, word, nullptr};
  pid_t pid = 0;
  TELL(posix_spawnp(&pid, "echo", &actions, nullptr, words, environ));
  waitpid(pid, &status, 0);
  posix_spawn_file_actions_destroy(&actions);
  in_child([&] {
    dup2(fd, 1);
    execlp("echo", "echo", "executed", nullptr);
  });
  TELL(system("echo by system >>a"));
  TELL(lseek(fd, 0, SEEK_END));
  TELL(close(fd));
  show_file("a");
}

void mapped() {
  const int fd = opened("a", O_RDWR | O_CREAT);
  const std::string data = pattern(8192);
  TELL(write(fd, data.data(), data.size()));
  auto* memory = static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  say("  mapped: %.5s", memory + 4096);
  memory[1] = 'M';
  TELL(msync(memory, 8192, MS_SYNC));
  TELL(pwrite(fd, "W", 1, 2));
  say("  mapped: %.5s", memory);
  char buffer[6] = "";
  READ(pread(fd, buffer, 5, 0), buffer);
  say("  read: %s", buffer);
  munmap(memory, 8192);
  TELL(close(fd));
  show_file("a");
}

void copies() {
  const int in = opened("in", O_RDWR | O_CREAT);
  const std::string data = pattern(50000);
  TELL(write(in, data.data(), data.size()));
  const int out = opened("out", O_RDWR | O_CREAT);
  off_t offset = 10;
  TELL(sendfile(out, in, &offset, 1000));
  TELL(lseek(in, 0, SEEK_SET));
  TELL(copy_file_range(in, nullptr, out, nullptr, 2000, 0));
  TELL(write(out, "end", 3));
  TELL(lseek(in, 0, SEEK_CUR));
  std::string all(60000, 0);
  READ(pread(in, all.data(), all.size(), 0), all.data());
  READ(pread(out, all.data(), all.size(), 0), all.data());
  TELL(close(in));
  TELL(close(out));
  show_file("in");
  show_file("out");
}

void locks() {
  const int fd = opened("a", O_RDWR | O_CREAT);
  TELL(flock(fd, LOCK_EX));
  TELL(write(fd, "locked", 6));
  in_child([&] {
    const int other = open("a", O_RDWR);
    TELL(flock(other, LOCK_EX | LOCK_NB));
    char buffer[10];
    READ(read(other, buffer, 10), buffer);
  });
  TELL(flock(fd, LOCK_UN));
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_len = 10;
  TELL(fcntl(fd, F_SETLK, &range));
  in_child([&] {
    const int other = open("a", O_RDWR);
    struct flock mine = range;
    TELL(fcntl(other, F_SETLK, &mine));
    TELL(fcntl(other, F_GETLK, &mine));
  });
  TELL(lockf(fd, F_ULOCK, 0));
  TELL(close(fd));
  // Counted from the end, which may be in memory alone.
  const int kept = opened("b", O_RDWR | O_CREAT);
  TELL(write(kept, "some text", 9));
  TELL(write(kept, "and more of it", 14));
  range = {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_END;
  range.l_start = -4;
  range.l_len = 8;
  TELL(fcntl(kept, F_SETLK, &range));
  in_child([&] {
    struct flock theirs {};
    theirs.l_type = F_WRLCK;
    const int other = open("b", O_RDWR);
    TELL(fcntl(other, F_GETLK, &theirs));
    say("  from %lld, %lld bytes", static_cast<long long>(theirs.l_start),
        static_cast<long long>(theirs.l_len));
  });
  TELL(close(kept));
  show_file("a");
}

void flags() {
  const int fd = opened("a", O_RDWR | O_CREAT);
  TELL(write(fd, "text", 4));
  TELL(fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND | O_ASYNC));
  TELL(fcntl(fd, F_SETFL, O_APPEND));
  TELL(lseek(fd, 0, SEEK_SET));
  TELL(write(fd, "end", 3));
  TELL(fcntl(fd, F_GETFD));
  const int reading = opened("a", O_RDONLY);
  TELL(write(reading, "x", 1));
  const int writing = opened("a", O_WRONLY);
  char buffer[10];
  READ(read(writing, buffer, 10), buffer);
  TELL(close(reading));
  TELL(close(writing));
  const int synced = opened("b", O_WRONLY | O_CREAT | O_SYNC);
  TELL(write(synced, "synced", 6));
  TELL(close(synced));
  const int truncated = opened("b", O_RDWR | O_TRUNC);
  READ(read(truncated, buffer, 10), buffer);
  TELL(close(truncated));
  TELL(close(fd));
  show_file("a");
  show_file("b");
}

void limits() {
  in_child([] {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{.rlim_cur = 1000, .rlim_max = RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    const int fd = opened("a", O_WRONLY | O_CREAT);
    const std::string data = pattern(900);
    TELL(write(fd, data.data(), data.size()));
    TELL(write(fd, data.data(), data.size()));
    TELL(write(fd, data.data(), data.size()));
    TELL(close(fd));
  });
  show_file("a");
  in_child([] {
    rlimit limit{.rlim_cur = 100000, .rlim_max = RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    const int fd = opened("v", O_WRONLY | O_CREAT);
    std::string data = pattern(50000);
    iovec parts[] = {{data.data(), data.size()}, {data.data(), data.size()}, {data.data(), data.size()}};
    TELL(writev(fd, parts, 3));
    TELL(close(fd));
  });
  show_file("v");
  const int full = opened("/dev/full", O_WRONLY);
  TELL(write(full, "x", 1));
  TELL(close(full));
}

void passed_to_another() {
  int ends[2];
  TELL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
  const int fd = opened("a", O_RDWR | O_CREAT);
  TELL(write(fd, "first ", 6));
  char byte = 'x';
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  TELL(sendmsg(ends[0], &message, 0));
  in_child([&] {
    message.msg_controllen = sizeof control;
    recvmsg(ends[1], &message, 0);
    int got = -1;
    std::memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof got);
    TELL(write(got, "passed ", 7));
  });
  // The same in a batch of messages.
  const int other = opened("b", O_RDWR | O_CREAT);
  TELL(write(other, "first ", 6));
  message.msg_controllen = sizeof control;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &other, sizeof other);
  mmsghdr batch{.msg_hdr = message, .msg_len = 0};
  TELL(sendmmsg(ends[0], &batch, 1, 0));
  TELL(write(other, "second ", 7));
  in_child([&] {
    message.msg_controllen = sizeof control;
    recvmsg(ends[1], &message, 0);
    int got = -1;
    std::memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof got);
    TELL(write(got, "passed ", 7));
  });
  for (const int one : {fd, other}) {
    TELL(write(one, "last", 4));
    TELL(close(one));
  }
  show_file("a");
  show_file("b");
}

// Calls by their number, as libuv makes them, among those of libc's functions.
void by_number() {
  const int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "a", O_RDWR | O_CREAT | O_CLOEXEC, 0640));
  for (int i = 0; i < 100; ++i) {
    TELL(i % 2 == 0 ? write(fd, "of libc ", 8) : syscall(SYS_write, fd, "by number ", 10L));
  }
  struct statx found {};
  TELL(syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &found));
  say("  %llu bytes", static_cast<unsigned long long>(found.stx_size));
  TELL(write(fd, "more", 4));
  TELL(syscall(SYS_statx, AT_FDCWD, "a", 0, STATX_BASIC_STATS, &found));
  say("  %llu bytes", static_cast<unsigned long long>(found.stx_size));
  char bytes[20] = "";
  TELL(pwrite(fd, "some", 4, 900));
  TELL(syscall(SYS_pread64, fd, bytes, 10L, 898L));
  say("  %.10s", bytes);
  TELL(syscall(SYS_lseek, fd, 3L, SEEK_SET));
  TELL(write(fd, "three", 5));
  std::fflush(stdout);
  const int both = opened("both", O_RDWR | O_CREAT);
  TELL(write(both, "before", 6));
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L));
  if (child == 0) {
    TELL(write(fd, " of a child", 11));
    TELL(write(both, " of a child", 11));
    syscall(SYS_exit_group, 3L);
  }
  int status = 0;
  waitpid(child, &status, 0);
  say("  child ended with %d", status);
  for (const int one : {fd, both}) {
    TELL(write(one, " and after it", 13));
  }
  TELL(close(both));
  show_file("both");
  // Its number is another's at once, whom nothing of it concerns.
  TELL(syscall(SYS_close, fd));
  int ends[2];
  TELL(pipe(ends));
  TELL(write(ends[1], "to a pipe", 9));
  TELL(read(ends[0], bytes, sizeof bytes));
  show_file("a");
  const int made = opened("b", O_WRONLY | O_CREAT);
  TELL(write(made, "copied", 6));
  TELL(close(made));
  open_how how{};
  how.flags = O_RDWR;
  const int from = static_cast<int>(syscall(SYS_openat2, AT_FDCWD, "b", &how, sizeof how));
  const int to = opened("c", O_RDWR | O_CREAT);
  TELL(syscall(SYS_copy_file_range, from, nullptr, to, nullptr, 100L, 0L));
  TELL(syscall(SYS_copy_file_range, from, nullptr, to, nullptr, 100L, 0L));
  TELL(write(from, " and more", 9));
  const int again = static_cast<int>(syscall(SYS_openat2, AT_FDCWD, "b", &how, sizeof how));
  READ(read(again, bytes, sizeof bytes), bytes);
  for (const int one : {from, to, again}) {
    TELL(syscall(SYS_close, one));
  }
  show_file("b");
  show_file("c");
  TELL(syscall(SYS_renameat2, AT_FDCWD, "b", AT_FDCWD, "d", 0L));
  TELL(syscall(SYS_unlinkat, AT_FDCWD, "c", 0L));
  TELL(syscall(SYS_openat, AT_FDCWD, "c", O_RDONLY));
  show_file("d");
  const int last = opened("e", O_WRONLY | O_CREAT);
  TELL(write(last, "handle", 6));
  struct {
    file_handle head;
    char bytes[128];
  } handle{};
  handle.head.handle_bytes = sizeof handle.bytes;
  int mount = 0;
  TELL(close(last));
  TELL(name_to_handle_at(AT_FDCWD, "e", &handle.head, &mount, 0));
}

void stdio() {
  FILE* file = std::fopen("a", "w+");
  say("  printf %d", std::fprintf(file, "%s %d\n", "line", 1));
  for (int i = 0; i < 3000; ++i) {
    std::fprintf(file, "line %d\n", i);
  }
  say("  tell %ld", std::ftell(file));
  std::rewind(file);
  char line[100] = "";
  say("  %s", std::fgets(line, sizeof line, file));
  say("  seek %d", std::fseek(file, -20, SEEK_END));
  std::fputs("changed", file);
  say("  flush %d", std::fflush(file));
  show_file("a");
  std::fseek(file, 0, SEEK_SET);
  READ(static_cast<ssize_t>(std::fread(line, 1, 50, file)), line);
  say("  descriptor position %ld", static_cast<long>(lseek(fileno(file), 0, SEEK_CUR)) > 0 ? 1L : 0L);
  say("  close %d", std::fclose(file));
  file = std::fopen("a", "a");
  std::fputs("appended", file);
  file = std::freopen("b", "w", file);
  std::fputs("other", file);
  const int fd = dup(fileno(file));
  std::fclose(file);
  TELL(write(fd, "!", 1));
  FILE* again = fdopen(fd, "w");
  std::fputs("?", again);
  std::fclose(again);
  say("  missing: %s", std::fopen("no/file", "r") == nullptr ? strerrorname_np(errno) : "there");
  FILE* wide = std::fopen("wide", "w");
  std::fputws(L"wide text\n", wide);
  std::fclose(wide);
  FILE* unbuffered = std::fopen("c", "w");
  std::setvbuf(unbuffered, nullptr, _IONBF, 0);
  std::fputs("unbuffered", unbuffered);
  show_file("c");
  std::fclose(unbuffered);
  FILE* full = std::fopen("/dev/full", "w");
  std::fputs("x", full);
  const int failed = std::fclose(full);
  say("  full: %d %s", failed, strerrorname_np(errno));
  for (const char* name : {"a", "b", "wide"}) {
    show_file(name);
  }
}

void streams() {
  {
    std::ofstream out("a");
    for (int i = 0; i < 5000; ++i) {
      out << "line " << i << '\n';
    }
    say("  tellp %ld", static_cast<long>(out.tellp()));
    out.seekp(10);
    out << "HERE";
  }
  {
    std::fstream both("a", std::ios::in | std::ios::out);
    std::string word;
    both >> word >> word;
    say("  %s", word.c_str());
    both.seekp(0, std::ios::end);
    both << "end\n";
  }
  std::ifstream in("a");
  std::string line;
  int count = 0;
  while (std::getline(in, line)) {
    ++count;
  }
  say("  %d lines", count);
  show_file("a");
}

void left_open_at_exit() {
  in_child([] {
    FILE* file = std::fopen("a", "w");
    std::fputs("flushed by exit\n", file);
    const int fd = open("b", O_WRONLY | O_CREAT, 0644);
    if (write(fd, "left open\n", 10) != 10) _exit(1);
    std::fflush(stdout);
    std::exit(0);
  });
  show_file("a");
  show_file("b");
  in_child([] {
    const int fd = open("c", O_WRONLY | O_CREAT, 0644);
    if (write(fd, "killed\n", 7) != 7) _exit(1);
    kill(getpid(), SIGKILL);
  });
  // What a killed process had kept back is written by another, a moment later.
  struct stat found {};
  for (int i = 0; i < 1000 && stat("c", &found) == 0 && found.st_size == 0; ++i) {
    usleep(10000);
  }
  show_file("c");
}

void temporary() {
  char path[] = "tmp-XXXXXX";
  const int fd = mkstemp(path);
  TELL(write(fd, "text", 4));
  TELL(rename(path, "kept"));
  TELL(close(fd));
  show_file("kept");
  char suffixed[] = "tmp-XXXXXX.txt";
  const int other = mkstemps(suffixed, 4);
  TELL(write(other, "more", 4));
  TELL(unlink(suffixed));
  TELL(close(other));
  const int nameless = open(".", O_TMPFILE | O_RDWR, 0600);
  if (nameless >= 0) {
    TELL(write(nameless, "nameless", 8));
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", nameless);
    TELL(linkat(AT_FDCWD, link, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
    show_file("named");
    TELL(lseek(nameless, 0, SEEK_END));
    TELL(close(nameless));
  }
  FILE* file = std::tmpfile();
  std::fputs("x", file);
  std::fclose(file);
}

void threads() {
  const int fd = opened("a", O_RDWR | O_CREAT);
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t) {
    all.emplace_back([&, t] {
      const std::string mine(100, static_cast<char>('0' + t));
      for (int i = 0; i < 500; ++i) {
        if (pwrite(fd, mine.data(), mine.size(), (i * 4 + t) * 100L) != 100) abort();
        const int other = open(("t" + std::to_string(t)).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
        if (write(other, mine.data(), 10) != 10 || close(other) != 0) abort();
      }
    });
  }
  for (std::thread& one : all) {
    one.join();
  }
  TELL(lseek(fd, 0, SEEK_END));
  TELL(close(fd));
  for (const char* name : {"a", "t0", "t1", "t2", "t3"}) {
    show_file(name);
  }
}

volatile sig_atomic_t handled = 0;
int handler_fd = -1;
void handler(int) {
  handled = write(handler_fd, "S", 1) == 1 ? 1 : 2;
}

void in_a_handler() {
  handler_fd = opened("a", O_WRONLY | O_CREAT);
  signal(SIGUSR1, handler);
  TELL(write(handler_fd, "before ", 7));
  raise(SIGUSR1);
  say("  handled %d", static_cast<int>(handled));
  TELL(write(handler_fd, " after", 6));
  TELL(close(handler_fd));
  show_file("a");
}

void ranges_closed() {
  const int first = opened("a", O_WRONLY | O_CREAT);
  const int second = opened("b", O_WRONLY | O_CREAT);
  TELL(write(first, "a", 1));
  TELL(write(second, "b", 1));
  TELL(close_range(static_cast<unsigned>(first), static_cast<unsigned>(second), 0));
  TELL(write(first, "x", 1));
  const int again = opened("c", O_WRONLY | O_CREAT);
  TELL(write(again, "c", 1));
  closefrom(3);
  TELL(write(again, "x", 1));
  for (const char* name : {"a", "b", "c"}) {
    show_file(name);
  }
}

void asynchronous() {
  const int fd = opened("a", O_RDWR | O_CREAT);
  TELL(write(fd, "0123456789", 10));
  char text[] = "AIO";
  aiocb block{};
  block.aio_fildes = fd;
  block.aio_buf = text;
  block.aio_nbytes = 3;
  block.aio_offset = 4;
  TELL(aio_write(&block));
  const aiocb* list[] = {&block};
  aio_suspend(list, 1, nullptr);
  TELL(aio_error(&block));
  TELL(aio_return(&block));
  char buffer[11] = "";
  READ(pread(fd, buffer, 10, 0), buffer);
  say("  %s", buffer);
  TELL(close(fd));
  show_file("a");
}

void large() {
  const int fd = opened("a", O_RDWR | O_CREAT);
  const std::string data = pattern(3 << 20);
  TELL(write(fd, data.data(), data.size()));
  TELL(write(fd, "small", 5));
  TELL(pwrite(fd, "far", 3, 5L << 30));
  struct stat found {};
  fstat(fd, &found);
  say("  size %lld", static_cast<long long>(found.st_size));
  TELL(ftruncate(fd, 4 << 20));
  TELL(close(fd));
  show_file("a");
}

void not_files() {
  int ends[2];
  TELL(pipe(ends));
  TELL(write(ends[1], "pipe", 4));
  char buffer[10];
  TELL(read(ends[0], buffer, 10));
  TELL(lseek(ends[0], 0, SEEK_SET));
  TELL(pread(ends[0], buffer, 1, 0));
  TELL(close(ends[0]));
  signal(SIGPIPE, SIG_IGN);
  TELL(write(ends[1], "x", 1));
  TELL(close(ends[1]));
  const int null = opened("/dev/null", O_RDWR);
  TELL(write(null, "x", 1));
  READ(read(null, buffer, 10), buffer);
  TELL(close(null));
  const int folder = opened(".", O_RDONLY);
  READ(read(folder, buffer, 10), buffer);
  TELL(fsync(folder));
  TELL(close(folder));
  TELL(read(-1, buffer, 1));
  TELL(write(9999, buffer, 1));
  TELL(write(70000, buffer, 1));
}

void bad_memory() {
  const int fd = opened("a", O_RDWR | O_CREAT);
  TELL(write(fd, "0123456789", 10));
  TELL(lseek(fd, 0, SEEK_SET));
  TELL(read(fd, reinterpret_cast<void*>(8), 5));
  TELL(write(fd, reinterpret_cast<const void*>(8), 5));
  TELL(lseek(fd, 0, SEEK_CUR));
  char text[] = "ab";
  iovec parts[] = {{text, 2}, {reinterpret_cast<void*>(8), 2}};
  TELL(writev(fd, parts, 2));
  TELL(preadv(fd, parts, 2, 0));
  TELL(writev(fd, reinterpret_cast<const iovec*>(8), 2));
  TELL(readv(fd, parts, 5000));
  const int folder = opened(".", O_RDONLY | O_DIRECTORY);
  for (void* nowhere : {static_cast<void*>(nullptr), reinterpret_cast<void*>(8)}) {
    TELL(ioctl(folder, FICLONERANGE, nowhere));
    TELL(ioctl(folder, FIDEDUPERANGE, nowhere));
  }
  TELL(close(folder));
  TELL(close(fd));
  show_file("a");
}

void write_text(const char* path, const char* text) {
  const int fd = opened(path, O_WRONLY | O_CREAT);
  TELL(write(fd, text, std::strlen(text)));
  TELL(close(fd));
}

// Two names change places: new files, open ones, one that was there, folders.
void exchanged() {
  TELL(mkdir("folder", 0755));
  const int a = opened("a", O_RDWR | O_CREAT);
  TELL(write(a, "of a", 4));
  write_text("b", "of b, longer");
  const auto exchange = [](const char* one, const char* other, unsigned flags = RENAME_EXCHANGE) {
    return renameat2(AT_FDCWD, one, AT_FDCWD, other, flags);
  };
  TELL(exchange("a", "b"));
  TELL(write(a, " and more", 9));
  show_file("a");
  show_file("b");
  TELL(exchange("b", "b"));
  TELL(exchange("a", "nothing"));
  TELL(exchange("nothing", "a"));
  TELL(exchange("a", "b", RENAME_EXCHANGE | RENAME_NOREPLACE));
  TELL(exchange("a", "folder/none"));
  TELL(rename("b", "folder/c"));
  write_text("d", "of d");
  TELL(exchange("folder/c", "d"));
  TELL(exchange("a", "folder/c"));
  for (const char* name : {"a", "d", "folder/c"}) {
    show_file(name);
  }
  TELL(symlink("a", "link"));
  TELL(exchange("link", "a"));
  show_file("link");
  TELL(exchange("link", "a"));
  TELL(exchange("d", "folder"));
  show_file("folder");
  show_file("d/c");
  write_text("folder", "written again");
  TELL(exchange("d", "folder"));
  show_file("d");
  TELL(close(a));
  TELL(unlink("d"));
  show_file("d");
  show_file("a");
  show_file("folder/c");
}

// What is a file cannot be a folder, wherever it is just now.
void not_a_folder() {
  struct stat found {};
  char text[8];
  const auto make = [] {
    unlink("a");
    const int fd = open("a", O_WRONLY | O_CREAT, 0644);
    if (write(fd, "text", 4) != 4 || close(fd) != 0) _exit(8);
  };
  make();
  opened("a/x", O_RDONLY);
  make();
  opened("a/x", O_WRONLY | O_CREAT);
  make();
  opened("a/x/y", O_WRONLY | O_CREAT | O_EXCL);
  make();
  opened("a/", O_RDONLY);
  make();
  opened("a/..", O_RDONLY);
  make();
  say("  fopen %s", std::fopen("a/x", "w") == nullptr ? strerrorname_np(errno) : "yes");
  make();
  TELL(stat("a/x", &found));
  make();
  TELL(lstat("a/x", &found));
  make();
  TELL(access("a/x", F_OK));
  make();
  TELL(unlink("a/x"));
  make();
  TELL(rename("a/x", "b"));
  make();
  TELL(rename("a", "a/x"));
  make();
  TELL(mkdir("a/x", 0755));
  make();
  TELL(rmdir("a/x"));
  make();
  TELL(symlink("b", "a/x"));
  make();
  TELL(link("a/x", "b"));
  make();
  TELL(readlink("a/x", text, sizeof text));
  make();
  TELL(truncate("a/x", 1));
  make();
  TELL(chmod("a/x", 0600));
  make();
  TELL(chdir("a"));
  opened("none/x", O_WRONLY | O_CREAT);
  show_file("a");
}

// The ways that openat2() may forbid to a path, of files that are new, of open ones, and of links to folders.
void resolved() {
  TELL(mkdir("folder", 0755));
  TELL(symlink("folder", "way"));
  write_text("a", "text");
  const int b = opened("b", O_WRONLY | O_CREAT);
  const int c = opened("folder/c", O_WRONLY | O_CREAT);
  TELL(write(b, "of b", 4));
  TELL(write(c, "below", 5));
  const int here = open(".", O_RDONLY | O_DIRECTORY);
  for (const int resolve : {0, RESOLVE_BENEATH, RESOLVE_IN_ROOT, RESOLVE_NO_SYMLINKS,
                            RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, RESOLVE_NO_XDEV, RESOLVE_NO_MAGICLINKS}) {
    for (const char* path : {"a", "b", "folder/c", "folder/../b", "way/c", "../a", "none"}) {
      for (const int flags : {O_RDONLY, O_RDWR, O_RDONLY | O_NOFOLLOW, O_RDWR | O_CREAT,
                              O_WRONLY | O_CREAT | O_EXCL, O_RDONLY | O_DIRECTORY, O_PATH}) {
        open_how how{};
        how.flags = static_cast<std::uint64_t>(flags);
        how.mode = (flags & O_CREAT) != 0 ? 0644 : 0;
        how.resolve = static_cast<std::uint64_t>(resolve);
        const int fd = static_cast<int>(syscall(SYS_openat2, here, path, &how, sizeof how));
        const int number = errno;
        char bytes[20] = {};
        const ssize_t got = fd < 0 || (flags & O_PATH) != 0 ? 0 : read(fd, bytes, sizeof bytes);
        say("  %s %o %d: %s %zd %s", path, static_cast<unsigned>(flags), resolve,
            fd >= 0 ? "yes" : strerrorname_np(number), got, bytes);
        if (fd >= 0) {
          close(fd);
        }
        unlink("none");
        unlink("../a");
      }
    }
  }
  open_how how{};
  how.flags = O_RDWR | O_TRUNC;
  how.resolve = RESOLVE_BENEATH;
  const int fd = static_cast<int>(syscall(SYS_openat2, here, "b", &how, sizeof how));
  TELL(write(fd, "by another", 10));
  TELL(close(fd));
  TELL(write(b, "!", 1));
  TELL(close(b));
  TELL(close(c));
  show_file("b");
  show_file("folder/c");
}

const std::vector<Scenario> own_scenarios = {
    {"write-and-read", write_and_read},
    {"own-writes-are-seen", own_writes_are_seen},
    {"vectors", vectors},
    {"vectors-behind-small-writes", vectors_behind_small_writes},
    {"direct-vectors", direct_vectors},
    {"appended-vectors", appended_vectors},
    {"small-stacks", small_stacks},
    {"cancelled", cancelled},
    {"reopened", reopened},
    {"appending", appending},
    {"duplicates", duplicates},
    {"far-descriptors", far_descriptors},
    {"sizes-change", sizes_change},
    {"holes", holes},
    {"names", names},
    {"relative", relative},
    {"exchanged", exchanged},
    {"not-a-folder", not_a_folder},
    {"resolved", resolved},
    {"children", children},
    {"mapped", mapped},
    {"copies", copies},
    {"locks", locks},
    {"flags", flags},
    {"limits", limits},
    {"passed-to-another", passed_to_another},
    {"by-number", by_number},
    {"stdio", stdio},
    {"streams", streams},
    {"left-open-at-exit", left_open_at_exit},
    {"temporary", temporary},
    {"threads", threads},
    {"in-a-handler", in_a_handler},
    {"ranges-closed", ranges_closed},
    {"asynchronous", asynchronous},
    {"large", large},
    {"not-files", not_files},
    {"bad-memory", bad_memory},
};

}  // namespace

// Each in a process and a folder of its own.
int main(int count, char** words) {
  std::vector<Scenario> all = own_scenarios;
  all.insert(all.end(), scenarios_around().begin(), scenarios_around().end());
  const std::string first = count > 1 ? words[1] : "";
  for (const Scenario& one : all) {
    if (first == "--list") {
      std::printf("%s\n", one.name);
      continue;
    }
    const bool named = std::any_of(words + 1, words + count,
                                   [&](const char* word) { return std::strcmp(word, one.name) == 0; });
    if (count > 1 && !named) {
      continue;
    }
    say("%s", one.name);
    in_child([&] {
      if (mkdir(one.name, 0755) != 0 || chdir(one.name) != 0) _exit(9);
      umask(022);
      alarm(60);
      one.act();
    });
  }
  return 0;
}

// What programs do around their reads and writes: times, modes, owners, locks, leases, folders, and how
// programs begin and end, with files of which something may be kept back.
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <vector>

#include "parity.h"

namespace {

// So small that stages keep it back.
int written(const char* path, const char* text, int flags = O_RDWR | O_CREAT) {
  const int fd = opened(path, flags);
  for (int i = 0; i < 3; ++i) {
    TELL(write(fd, text, std::strlen(text)));
  }
  return fd;
}

constexpr std::array<timespec, 2> long_ago = {timespec{1000000000, 1000}, timespec{1100000000, 2000}};

// A time of the program's own, or one that the kernel gave.
void show_times(const char* path) {
  struct stat found {};
  if (stat(path, &found) != 0) {
    say("  %s: %s", path, strerrorname_np(errno));
    return;
  }
  const bool old = found.st_mtim.tv_sec < 1500000000;
  say("  %s: accessed %ld, changed %ld.%09ld", path, old ? found.st_atim.tv_sec : 0,
      old ? found.st_mtim.tv_sec : 0, old ? found.st_mtim.tv_nsec : 0);
}

// Once set they stay so, whenever what was written before reaches the file.
void times() {
  const int fd = written("a", "text");
  TELL(futimens(fd, long_ago.data()));
  show_times("a");
  TELL(close(fd));
  show_times("a");
  const int by_path = written("b", "text");
  TELL(utimensat(AT_FDCWD, "b", long_ago.data(), 0));
  show_times("b");
  TELL(close(by_path));
  show_times("b");
  const int before = written("c", "text");
  TELL(futimens(before, long_ago.data()));
  TELL(write(before, "more", 4));
  TELL(close(before));
  show_times("c");
  const int closed = written("d", "text");
  TELL(close(closed));
  TELL(utimensat(AT_FDCWD, "d", long_ago.data(), 0));
  show_times("d");
  const int reading = opened("d", O_RDONLY);
  show_times("d");
  TELL(close(reading));
  TELL(utimensat(AT_FDCWD, "none", long_ago.data(), 0));
  TELL(futimens(-1, long_ago.data()));
  timespec wrong[] = {{0, -5}, {0, 5}};
  TELL(utimensat(AT_FDCWD, "d", wrong, 0));
  show_file("a");
}

void modes() {
  const int fd = written("a", "text");
  TELL(fchmod(fd, 0640));
  show_file("a");
  TELL(write(fd, "more", 4));
  TELL(fchmod(fd, 0400));
  TELL(write(fd, "last", 4));
  TELL(close(fd));
  show_file("a");
  const int by_path = written("b", "text");
  TELL(chmod("b", 0600));
  TELL(write(by_path, "more", 4));
  TELL(fchmodat(AT_FDCWD, "b", 0660, 0));
  TELL(close(by_path));
  show_file("b");
  // A write of somebody who is not root takes these bits away.
  const int with_bits = written("c", "text");
  TELL(fchmod(with_bits, 06755));
  show_file("c");
  TELL(write(with_bits, "more", 4));
  TELL(close(with_bits));
  show_file("c");
  TELL(fchmod(-1, 0600));
}

void owners() {
  const bool root = geteuid() == 0;
  const uid_t user = root ? 12345 : geteuid();
  const gid_t group = root ? 12346 : getegid();
  const int fd = written("a", "text");
  TELL(fchown(fd, user, group));
  TELL(write(fd, "more", 4));
  struct stat found {};
  TELL(fstat(fd, &found));
  say("  %lld bytes, its own: %d", static_cast<long long>(found.st_size),
      found.st_uid == user && found.st_gid == group);
  TELL(close(fd));
  const int by_path = written("b", "text");
  TELL(chown("b", user, group));
  TELL(write(by_path, "more", 4));
  TELL(close(by_path));
  const int closed = written("c", "text");
  TELL(close(closed));
  TELL(chown("c", user, group));
  for (const char* name : {"a", "b", "c"}) {
    TELL(stat(name, &found));
    say("  its own: %d", found.st_uid == user && found.st_gid == group);
    show_file(name);
  }
  TELL(chown("none", user, group));
  TELL(fchown(-1, user, group));
}

void spliced() {
  int ends[2];
  TELL(pipe(ends));
  const int from = written("a", "0123456789");
  off64_t offset = 5;
  TELL(splice(from, &offset, ends[1], nullptr, 10, 0));
  char bytes[100];
  READ(read(ends[0], bytes, sizeof bytes), bytes);
  TELL(lseek(from, 2, SEEK_SET));
  TELL(splice(from, nullptr, ends[1], nullptr, 4, 0));
  TELL(lseek(from, 0, SEEK_CUR));
  const int to = written("b", "before");
  TELL(splice(ends[0], nullptr, to, nullptr, 100, SPLICE_F_NONBLOCK));
  TELL(write(to, "after", 5));
  TELL(write(ends[1], "pipe", 4));
  offset = 3;
  TELL(splice(ends[0], nullptr, to, &offset, 4, 0));
  TELL(lseek(to, 0, SEEK_CUR));
  TELL(splice(from, nullptr, to, nullptr, 4, 0));
  READ(pread(to, bytes, sizeof bytes, 0), bytes);
  TELL(close(from));
  TELL(close(to));
  show_file("a");
  show_file("b");
}

// Other programs see what was written, by their streams and by their names.
void piped() {
  const int fd = written("a", "text ");
  FILE* reading = popen("cat a; echo; echo of a shell >>a", "r");
  char line[200] = "";
  while (std::fgets(line, sizeof line, reading) != nullptr) {
    say("  %s", line);
  }
  say("  %d", pclose(reading));
  TELL(lseek(fd, 0, SEEK_END));
  TELL(write(fd, "more", 4));
  FILE* writing = popen("cat >b", "w");
  std::fputs("to a shell", writing);
  say("  %d", pclose(writing));
  TELL(close(fd));
  show_file("a");
  show_file("b");
}

void executed() {
  const int fd = written("a", "text ");
  const int shell = open("/bin/sh", O_RDONLY | O_CLOEXEC);
  in_child([&] {
    dup2(fd, 1);
    char name[] = "sh";
    char option[] = "-c";
    char text[] = "cat a >b; echo executed";
    char* words[] = {name, option, text, nullptr};
    TELL(fexecve(shell, words, environ));
  });
  TELL(lseek(fd, 0, SEEK_CUR));
  TELL(write(fd, "after", 5));
  TELL(close(fd));
  TELL(close(shell));
  show_file("a");
  show_file("b");
  // A program that was written just now.
  const int made = opened("script", O_WRONLY | O_CREAT | O_TRUNC, 0755);
  const char text[] = "#!/bin/sh\necho script >c\n";
  TELL(write(made, text, sizeof text - 1));
  TELL(close(made));
  in_child([] { TELL(execl("./script", "script", nullptr)); });
  show_file("c");
}

int at_the_end = -1;

void ended() {
  in_child([] {
    const int fd = written("a", "left ");
    FILE* stream = std::fopen("b", "w");
    std::fputs("not flushed by quick_exit", stream);
    at_the_end = fd;
    at_quick_exit([] {
      if (write(at_the_end, "at the end", 10) != 10) _exit(7);
    });
    std::fflush(stdout);
    quick_exit(3);
  });
  show_file("a");
  show_file("b");
  in_child([] {
    written("c", "left ");
    std::fflush(stdout);
    _Exit(4);
  });
  show_file("c");
  in_child([] {
    at_the_end = written("d", "left ");
    std::atexit([] {
      if (write(at_the_end, "at the end", 10) != 10) _exit(7);
    });
    std::exit(5);
  });
  show_file("d");
  in_child([] {
    written("e", "left ");
    syscall(SYS_exit_group, 6L);
  });
  show_file("e");
}

void standard_streams() {
  in_child([] {
    const int out = written("a", "before ");
    const int kept = dup(1);
    dup2(out, 1);
    std::printf("printed\n");
    std::fflush(stdout);
    if (write(1, "written\n", 8) != 8) _exit(8);
    if (system("echo of a shell") != 0) _exit(8);
    dup2(kept, 1);
    TELL(write(out, "after", 5));
    TELL(close(out));
  });
  show_file("a");
  in_child([] {
    const int in = opened("a", O_RDONLY);
    TELL(dup2(in, 0));
    TELL(close(in));
    char line[100] = "";
    say("  %s", std::fgets(line, sizeof line, stdin) != nullptr ? line : "nothing");
    TELL(lseek(0, 0, SEEK_SET) >= 0);
    TELL(system("cat >b"));
  });
  show_file("b");
  in_child([] {
    const int error = opened("c", O_WRONLY | O_CREAT);
    TELL(dup2(error, 2));
    TELL(close(error));
    std::fputs("complaint\n", stderr);
    TELL(system("echo of a shell >&2"));
    TELL(close(2));
  });
  show_file("c");
  // A file that is opened as one of them.
  in_child([] {
    close(0);
    TELL(opened("a", O_RDONLY));
    char bytes[10];
    READ(read(0, bytes, sizeof bytes), bytes);
  });
}

void synced() {
  const int fd = written("a", "text");
  const int other = written("b", "text");
  TELL(close(other));
  sync();
  TELL(write(fd, "more", 4));
  TELL(syncfs(fd));
  TELL(write(fd, "more", 4));
  TELL(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER));
  TELL(syncfs(-1));
  TELL(write(fd, "last", 4));
  TELL(close(fd));
  show_file("a");
  show_file("b");
}

void asked() {
  const int fd = written("a", "text");
  struct statx found {};
  TELL(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &found));
  say("  %llu bytes, mode %o", static_cast<unsigned long long>(found.stx_size), found.stx_mode);
  TELL(write(fd, "more", 4));
  TELL(statx(AT_FDCWD, "a", AT_SYMLINK_NOFOLLOW, STATX_SIZE | STATX_TYPE, &found));
  say("  %llu bytes, mode %o", static_cast<unsigned long long>(found.stx_size), found.stx_mode & S_IFMT);
  TELL(write(fd, "more", 4));
  struct stat plain {};
  TELL(fstatat(AT_FDCWD, "a", &plain, 0));
  say("  %lld bytes", static_cast<long long>(plain.st_size));
  TELL(write(fd, "more", 4));
  TELL(fstatat(fd, "", &plain, AT_EMPTY_PATH));
  say("  %lld bytes", static_cast<long long>(plain.st_size));
  TELL(write(fd, "more", 4));
  TELL(lstat("a", &plain));
  say("  %lld bytes, a file: %d", static_cast<long long>(plain.st_size), S_ISREG(plain.st_mode));
  const ino_t number = plain.st_ino;
  TELL(write(fd, "more", 4));
  const int path = opened("a", O_PATH);
  TELL(write(fd, "more", 4));
  TELL(fstat(path, &plain));
  say("  %lld bytes", static_cast<long long>(plain.st_size));
  TELL(write(fd, "more", 4));
  TELL(fstatat(path, "", &plain, AT_EMPTY_PATH));
  say("  %lld bytes", static_cast<long long>(plain.st_size));
  TELL(write(fd, "more", 4));
  TELL(statx(path, "", AT_EMPTY_PATH, STATX_SIZE, &found));
  say("  %llu bytes", static_cast<unsigned long long>(found.stx_size));
  TELL(close(path));
  TELL(close(fd));
  TELL(stat("a", &plain));
  say("  the same: %d", plain.st_ino == number);
  TELL(access("a", R_OK | W_OK));
  TELL(faccessat(AT_FDCWD, "a", X_OK, AT_EACCESS));
  TELL(statx(AT_FDCWD, "none", 0, STATX_SIZE, &found));
  TELL(statx(-1, "", AT_EMPTY_PATH, STATX_SIZE, &found));
}

// The names that programs have in them which were built with -D_FILE_OFFSET_BITS=64.
void by_64_names() {
  const int fd = open64("a", O_RDWR | O_CREAT, 0644);
  TELL(write(fd, "0123456789", 10));
  TELL(pwrite64(fd, "ABC", 3, 4));
  char bytes[100];
  READ(pread64(fd, bytes, 8, 1), bytes);
  TELL(lseek64(fd, -2, SEEK_END));
  READ(read(fd, bytes, sizeof bytes), bytes);
  char one[] = "one";
  char two[] = "two";
  iovec parts[] = {{one, 3}, {two, 3}};
  TELL(pwritev64(fd, parts, 2, 20));
  TELL(pwritev64v2(fd, parts, 2, -1, 0));
  TELL(preadv64(fd, parts, 2, 1));
  say("  %s %s", one, two);
  TELL(preadv64v2(fd, parts, 2, 4, 0));
  say("  %s %s", one, two);
  struct stat64 found {};
  TELL(fstat64(fd, &found));
  say("  %lld bytes", static_cast<long long>(found.st_size));
  TELL(ftruncate64(fd, 15));
  TELL(truncate64("a", 12));
  TELL(posix_fallocate64(fd, 0, 30));
  TELL(fallocate64(fd, FALLOC_FL_KEEP_SIZE, 0, 100));
  TELL(stat64("a", &found));
  say("  %lld bytes", static_cast<long long>(found.st_size));
  const int other = openat64(AT_FDCWD, "b", O_RDWR | O_CREAT, 0600);
  off64_t offset = 2;
  TELL(sendfile64(other, fd, &offset, 10));
  TELL(close(other));
  TELL(close(fd));
  const int third = creat64("c", 0640);
  TELL(write(third, "made", 4));
  TELL(close(third));
  char path[] = "d-XXXXXX";
  const int temporary = mkstemp64(path);
  TELL(write(temporary, "temporary", 9));
  TELL(rename(path, "d"));
  TELL(close(temporary));
  FILE* stream = fopen64("e", "w+");
  std::fputs("stream", stream);
  TELL(fseeko64(stream, 2, SEEK_SET));
  TELL(ftello64(stream));
  std::fputs("X", stream);
  stream = freopen64("f", "w", stream);
  std::fputs("another", stream);
  TELL(std::fclose(stream));
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    show_file(name);
  }
}

void locks_of_open_files() {
  const int fd = written("a", "text");
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_len = 10;
  TELL(fcntl(fd, F_OFD_SETLK, &range));
  TELL(write(fd, "locked", 6));
  in_child([&] {
    const int other = open("a", O_RDWR);
    struct flock mine = range;
    TELL(fcntl(other, F_OFD_SETLK, &mine));
    TELL(fcntl(other, F_OFD_GETLK, &mine));
    say("  kind %d, by %d", mine.l_type, mine.l_pid);
    mine = range;
    TELL(fcntl(fd, F_OFD_SETLK, &mine));  // it is the same open file
    char bytes[100];
    READ(read(other, bytes, sizeof bytes), bytes);
  });
  range.l_type = F_UNLCK;
  TELL(fcntl(fd, F_OFD_SETLKW, &range));
  in_child([&] {
    const int other = open("a", O_RDWR);
    struct flock mine = range;
    mine.l_type = F_WRLCK;
    TELL(fcntl(other, F_OFD_SETLKW, &mine));
    TELL(lseek(other, 0, SEEK_END));
    TELL(write(other, "theirs", 6));
  });
  TELL(lseek(fd, 0, SEEK_END));
  TELL(write(fd, "after", 5));
  TELL(close(fd));
  show_file("a");
}

void leased() {
  signal(SIGIO, SIG_IGN);
  const int fd = written("a", "text");
  TELL(fcntl(fd, F_SETLEASE, F_RDLCK));  // refused: it is open for writing
  TELL(fcntl(fd, F_SETLEASE, F_WRLCK));
  TELL(fcntl(fd, F_GETLEASE));
  TELL(write(fd, "more", 4));
  TELL(fcntl(fd, F_SETLEASE, F_UNLCK));
  TELL(fcntl(fd, F_GETLEASE));
  TELL(write(fd, "last", 4));
  TELL(close(fd));
  const int reading = opened("a", O_RDONLY);
  TELL(fcntl(reading, F_SETLEASE, F_RDLCK));
  TELL(fcntl(reading, F_GETLEASE));
  in_child([] {
    const int writing = open("a", O_WRONLY | O_NONBLOCK);
    say("  %s", writing < 0 ? strerrorname_np(errno) : "not refused");
  });
  TELL(fcntl(reading, F_SETLEASE, F_UNLCK));
  TELL(close(reading));
  show_file("a");
}

void show_folder(const char* path) {
  DIR* folder = opendir(path);
  std::vector<std::string> names;
  while (const dirent* one = folder != nullptr ? readdir(folder) : nullptr) {
    names.push_back(std::string(one->d_name) + (one->d_type == DT_REG ? "" : "/"));
  }
  std::sort(names.begin(), names.end());
  std::string all;
  for (const std::string& name : names) {
    all += " " + name;
  }
  say("  %s:%s", path, all.c_str());
  if (folder != nullptr) {
    closedir(folder);
  }
}

void listed() {
  TELL(mkdir("d", 0755));
  std::vector<int> open_ones;
  for (int i = 0; i < 12; ++i) {
    const std::string path = "d/" + std::to_string(i);
    open_ones.push_back(written(path.c_str(), "text"));
    if (i % 3 == 0) {
      show_folder("d");
    }
    if (i % 4 == 3) {
      TELL(close(open_ones[static_cast<std::size_t>(i - 1)]));
      TELL(unlink(("d/" + std::to_string(i - 2)).c_str()));
      TELL(rename(("d/" + std::to_string(i - 3)).c_str(), ("d/new-" + std::to_string(i)).c_str()));
      show_folder("d");
    }
  }
  show_folder("d");
  // One that was begun before a file was made, from its beginning again.
  DIR* folder = opendir("d");
  int before = 0;
  while (readdir(folder) != nullptr) {
    ++before;
  }
  const int fd = written("d/late", "text");
  rewinddir(folder);
  int after = 0;
  while (readdir(folder) != nullptr) {
    ++after;
  }
  say("  %d, then %d", before, after);
  closedir(folder);
  TELL(close(fd));
  dirent** found = nullptr;
  TELL(scandir("d", &found, nullptr, alphasort));
}

void folder_removed() {
  TELL(mkdir("d", 0755));
  for (int i = 0; i < 5; ++i) {
    const std::string path = "d/" + std::to_string(i);
    TELL(close(written(path.c_str(), "text")));
  }
  const int kept_open = written("d/open", "text");
  TELL(rmdir("d"));
  for (int i = 0; i < 5; ++i) {
    TELL(unlink(("d/" + std::to_string(i)).c_str()));
  }
  TELL(unlink("d/open"));
  TELL(rmdir("d"));
  TELL(write(kept_open, "more", 4));
  char bytes[100];
  READ(pread(kept_open, bytes, sizeof bytes, 0), bytes);
  TELL(close(kept_open));
  TELL(opened("d/again", O_WRONLY | O_CREAT));
  // By a shell, at once.
  TELL(mkdir("e", 0755));
  for (int i = 0; i < 5; ++i) {
    TELL(close(written(("e/" + std::to_string(i)).c_str(), "text")));
  }
  TELL(system("rm -r e"));
  show_file("e");
  // In a folder that got another name.
  TELL(mkdir("f", 0755));
  TELL(close(written("f/a", "text")));
  TELL(rename("f", "g"));
  show_file("g/a");
  TELL(unlink("g/a"));
  TELL(rmdir("g"));
}

constexpr Scenario all[] = {
    {"times", times},
    {"modes", modes},
    {"owners", owners},
    {"spliced", spliced},
    {"piped", piped},
    {"executed", executed},
    {"ended", ended},
    {"standard-streams", standard_streams},
    {"synced", synced},
    {"asked", asked},
    {"by-64-names", by_64_names},
    {"locks-of-open-files", locks_of_open_files},
    {"leased", leased},
    {"listed", listed},
    {"folder-removed", folder_removed},
};

}  // namespace

std::span<const Scenario> scenarios_around() {
  return all;
}

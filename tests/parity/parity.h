// What scenarios say of what they do: the same natively and under stages, or something is wrong.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

struct Scenario {
  const char* name;
  void (*act)();
};
// Those of around.cc.
std::span<const Scenario> scenarios_around();

inline void say(const char* format, ...) __attribute__((format(printf, 1, 2)));
inline void say(const char* format, ...) {
  char line[4096];
  va_list list;
  va_start(list, format);
  vsnprintf(line, sizeof line, format, list);
  va_end(list);
  std::fputs(line, stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

// The value of a call and its errno where it failed.
template <class T>
T told(const char* what, T value) {
  const int number = errno;
  if (static_cast<long>(value) < 0) {
    say("  %s = %ld (%s)", what, static_cast<long>(value), strerrorname_np(number));
  } else {
    say("  %s = %ld", what, static_cast<long>(value));
  }
  return value;
}
#define TELL(call) told(#call, call)

// A descriptor's number is not told: stages may have descriptors of their own.
inline int opened(const char* path, int flags, mode_t mode = 0644) {
  const int fd = open(path, flags, mode);
  say("  open %s: %s", path, fd >= 0 ? "yes" : strerrorname_np(errno));
  return fd;
}

inline unsigned long long hash_of(std::string_view bytes) {
  std::uint64_t hash = 1469598103934665603U;
  for (const char c : bytes) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  return hash;
}

// How many bytes a read brought, and which.
inline void got(const char* what, ssize_t count, const char* bytes) {
  const auto length = static_cast<std::size_t>(told(what, count) > 0 ? count : 0);
  say("  hash %016llx", hash_of({bytes, length}));
}
#define READ(call, bytes) got(#call, call, bytes)

inline void show_file(const char* path) {
  struct stat found {};
  if (stat(path, &found) != 0) {
    say("  %s: %s", path, strerrorname_np(errno));
    return;
  }
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  say("  %s: %lld bytes, mode %o, links %lu, hash %016llx", path, static_cast<long long>(found.st_size),
      found.st_mode & 07777U, static_cast<unsigned long>(found.st_nlink), hash_of(text));
}

inline void in_child(const std::function<void()>& act) {
  std::fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    act();
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  say("  child ended with %d", status);
}

inline std::string pattern(std::size_t size) {
  std::string out(size, 0);
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = static_cast<char>('a' + i * 7 % 26);
  }
  return out;
}

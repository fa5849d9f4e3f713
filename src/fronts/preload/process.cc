// How processes begin others and end. What they keep back of files must not stay with who does not know of
// it.
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "fronts/preload/elsewhere.h"
#include "fronts/preload/export.h"
#include "fronts/preload/file.h"
#include "fronts/preload/pending.h"
#include "pipeline/area.h"
#include "pipeline/process.h"
#include "pipeline/tell.h"

using sluice::preload::after_fork;
using sluice::preload::after_fork_in_child;
using sluice::preload::before_fork;
using sluice::preload::by_name;
using sluice::preload::is_active;
using sluice::preload::may_keep;
using sluice::preload::put_down_all;
using sluice::preload::real;
using sluice::preload::settle_all;
using sluice::preload::settle_for_exec;

namespace {

// Programs that are not seen find files in their folders alone.
void before_exec() {
  if (may_keep()) {
    put_down_all();
    settle_for_exec(false);
  }
  sluice::leave_trace();
}
// A child of libc's own: this process goes on.
void before_spawn() {
  if (may_keep()) {
    put_down_all();
    settle_for_exec(true);
  }
}
// One that gets descriptors under other numbers may get any.
void before_spawn(const posix_spawn_file_actions_t* actions) {
  if (actions != nullptr && may_keep()) {
    settle_all(SLUICE_SETTLE_RETIRE);
  }
  before_spawn();
}
void before_exit() {
  if (may_keep()) {
    settle_all(SLUICE_SETTLE_RETIRE | SLUICE_SETTLE_LEAVE);
    if (const sluice::Area& area = *sluice::this_area(); has_pending(area) && !keeper_lives(area)) {
      put_down_all();  // nobody else will
    }
  }
}

// Files in parts that all who wrote them have closed.
void make_closed_native(sluice::AreaParts& parts) {
  const auto counts = [](const sluice::AreaPart& part) {
    return (part.generation & 1) != 0 && (part.flags & sluice::AreaPart::retired) == 0;
  };
  for (const sluice::AreaPart& part : parts.parts) {
    sluice::AreaWhole& whole = parts.wholes[part.whole];
    bool closed = counts(part) && is_parted(whole);
    for (const sluice::AreaPart& other : parts.parts) {
      closed = closed &&
               (!counts(other) || other.whole != part.whole || (other.flags & sluice::AreaPart::closed) != 0);
    }
    if (closed) {
      sluice::make_native(whole.device, whole.inode);
    }
  }
}

// One that was written just now may be in parts, or on its way to the keeper, which has it open for writing:
// then the kernel does not run it. `run` gives an errno, or 0.
template <class Run>
int run_closed(Run run) {
  constexpr int most_tries = 50;
  int error = run();
  sluice::AreaParts* parts = sluice::this_parts();
  for (int i = 0; i < most_tries && error == ETXTBSY && parts != nullptr && parts->top != 0; ++i) {
    make_closed_native(*parts);
    const timespec nap{.tv_sec = 0, .tv_nsec = i == 0 ? 0 : 2000000};
    syscall(SYS_nanosleep, &nap, nullptr);
    error = run();
  }
  return error;
}
// The first thread may be in the middle of something.
void note_exec() {
  sluice::Area* area = sluice::this_area();
  if (area != nullptr && syscall(SYS_gettid) != syscall(SYS_getpid)) {
    area->thread_execs.fetch_add(1);
  }
}

// Programs in which the library never comes up are not seen: those that are linked statically, or set-id.
void note_started(int count) {
  if (sluice::Area* area = sluice::this_area(); area != nullptr) {
    area->programs.fetch_add(static_cast<std::uint32_t>(count));
  }
}

// The same of a call that does not return where all is well.
template <class Exec>
int exec_closed(int folder, const char* path, Exec exec) {
  before_exec();
  note_exec();
  note_started(1);
  errno = run_closed([&] {
    by_name(folder, path, exec);
    return errno;
  });
  note_started(-1);
  return -1;
}

// The path of a program that is looked for where there is none; null where it is.
const char* path_in(const char* name) {
  return name != nullptr && std::strchr(name, '/') != nullptr ? name : nullptr;
}

template <class Spawn>
int spawned(const char* path, const posix_spawn_file_actions_t* actions, Spawn spawn) {
  before_spawn(actions);
  const int saved = errno;
  const auto once = [&] {
    errno = spawn();
    return errno == 0 ? 0 : -1;
  };
  // What it is to do before must not be done twice.
  const int error = run_closed(
      [&] { return by_name(AT_FDCWD, actions == nullptr ? path : nullptr, once) == 0 ? 0 : errno; });
  note_started(error == 0 ? 1 : 0);
  errno = saved;
  return error;
}

void begin_own_child() {
  sluice::begin_child();
  after_fork_in_child();
}

// What a child of clone() runs.
struct Child {
  int (*run)(void*);
  void* argument;
};
int run_child(void* context) {
  const Child one = *static_cast<Child*>(context);
  begin_own_child();
  return one.run(one.argument);
}

// The words of execl() and its kin: how many bytes a list of them takes, and that list. No more is taken of
// the stack, which may be small.
std::size_t words_size(const char* first, va_list list) {
  std::size_t count = 1;
  for (const char* word = first; word != nullptr; word = va_arg(list, const char*)) {
    ++count;
  }
  return count * sizeof(char*);
}
void gather(const char* first, va_list list, char** words) {
  for (const char* word = first; word != nullptr; word = va_arg(list, const char*)) {
    *words++ = const_cast<char*>(word);
  }
  *words = nullptr;
}

// Runs when the program ends by itself; stdio writes what it has left after this.
__attribute__((destructor)) void end_process() {
  before_exit();
}

}  // namespace

// A child of vfork shares our tables, and would take descriptors out of them that its parent still has.
SLUICE_EXPORT pid_t vfork() noexcept {
  return real.fork();
}

// For these libc tells nobody that there is a fork.
#if __GLIBC_PREREQ(2, 34)
SLUICE_EXPORT pid_t _Fork() noexcept {
  if (!is_active()) {
    return SLUICE_NEXT(_Fork)();
  }
  before_fork();
  const pid_t out = SLUICE_NEXT(_Fork)();
  out == 0 ? begin_own_child() : after_fork();
  return out;
}
#endif
SLUICE_EXPORT int clone(int (*run)(void*), void* stack, int flags, void* argument, ...) noexcept {
  va_list list;
  va_start(list, argument);
  auto* parent = va_arg(list, pid_t*);
  void* memory = va_arg(list, void*);
  auto* child = va_arg(list, pid_t*);
  va_end(list);
  if ((flags & CLONE_VM) != 0 || !is_active()) {
    return SLUICE_NEXT(clone)(run, stack, flags, argument, parent, memory, child);
  }
  before_fork();
  Child one{.run = run, .argument = argument};
  const int out = SLUICE_NEXT(clone)(run_child, stack, flags, &one, parent, memory, child);
  after_fork();
  return out;
}

SLUICE_EXPORT int execve(const char* path, char* const words[], char* const environment[]) noexcept {
  return exec_closed(AT_FDCWD, path, [&] { return SLUICE_NEXT(execve)(path, words, environment); });
}
SLUICE_EXPORT int execv(const char* path, char* const words[]) noexcept {
  return exec_closed(AT_FDCWD, path, [&] { return SLUICE_NEXT(execv)(path, words); });
}
SLUICE_EXPORT int execvp(const char* name, char* const words[]) noexcept {
  return exec_closed(AT_FDCWD, path_in(name), [&] { return SLUICE_NEXT(execvp)(name, words); });
}
SLUICE_EXPORT int execvpe(const char* name, char* const words[], char* const environment[]) noexcept {
  return exec_closed(AT_FDCWD, path_in(name), [&] { return SLUICE_NEXT(execvpe)(name, words, environment); });
}
SLUICE_EXPORT int fexecve(int fd, char* const words[], char* const environment[]) noexcept {
  return exec_closed(fd, nullptr, [&] { return SLUICE_NEXT(fexecve)(fd, words, environment); });
}
SLUICE_EXPORT int execveat(int folder, const char* path, char* const words[], char* const environment[],
                           int flags) noexcept {
  return exec_closed(folder, path,
                     [&] { return SLUICE_NEXT(execveat)(folder, path, words, environment, flags); });
}
// `list` is behind the words then.
#define SLUICE_WORDS(first)                                                      \
  va_list list;                                                                  \
  va_start(list, first);                                                         \
  auto** words = static_cast<char**>(__builtin_alloca(words_size(first, list))); \
  va_end(list);                                                                  \
  va_start(list, first);                                                         \
  gather(first, list, words)

SLUICE_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  SLUICE_WORDS(first);
  va_end(list);
  return execv(path, words);
}
SLUICE_EXPORT int execlp(const char* name, const char* first, ...) noexcept {
  SLUICE_WORDS(first);
  va_end(list);
  return execvp(name, words);
}
SLUICE_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  SLUICE_WORDS(first);
  char* const* environment = va_arg(list, char* const*);
  va_end(list);
  return execve(path, words, environment);
}

SLUICE_EXPORT int posix_spawn(pid_t* id, const char* path, const posix_spawn_file_actions_t* actions,
                              const posix_spawnattr_t* attributes, char* const words[],
                              char* const environment[]) {
  return spawned(path, actions,
                 [&] { return SLUICE_NEXT(posix_spawn)(id, path, actions, attributes, words, environment); });
}
SLUICE_EXPORT int posix_spawnp(pid_t* id, const char* name, const posix_spawn_file_actions_t* actions,
                               const posix_spawnattr_t* attributes, char* const words[],
                               char* const environment[]) {
  return spawned(path_in(name), actions, [&] {
    return SLUICE_NEXT(posix_spawnp)(id, name, actions, attributes, words, environment);
  });
}
SLUICE_EXPORT int system(const char* command) {
  before_spawn();
  note_started(command != nullptr ? 1 : 0);
  return SLUICE_NEXT(system)(command);
}
SLUICE_EXPORT FILE* popen(const char* command, const char* mode) {
  before_spawn();
  FILE* out = SLUICE_NEXT(popen)(command, mode);
  note_started(out != nullptr ? 1 : 0);
  return out;
}

SLUICE_EXPORT void _exit(int status) {
  before_exit();
  SLUICE_NEXT(_exit)(status);
  __builtin_unreachable();
}
SLUICE_EXPORT void _Exit(int status) noexcept {
  before_exit();
  SLUICE_NEXT(_Exit)(status);
  __builtin_unreachable();
}
SLUICE_EXPORT void quick_exit(int status) noexcept {
  before_exit();
  SLUICE_NEXT(quick_exit)(status);
  __builtin_unreachable();
}

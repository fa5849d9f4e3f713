#include "fronts/preload/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "fronts/preload/forks.h"
#include "fronts/preload/hints.h"
#include "fronts/preload/pending.h"
#include "pipeline/area.h"
#include "pipeline/line.h"
#include "pipeline/pool.h"
#include "stages/registry.h"
#include "stages/smallfiles/standin.h"

namespace sluice::preload {

constinit std::atomic<File*> files[most_descriptors] = {};
thread_local constinit unsigned inside_foreign = 0;
thread_local constinit Within within;

namespace {

constexpr std::size_t pool_size = 4096;

Pool<File, pool_size> pool;
std::array<Stack, most_stacks> stacks;
std::array<std::uint16_t, most_rules> stack_of_rule;  // and one; 0 = none
std::atomic<std::uint32_t> wanted_names = 0;          // SLUICE_BIT of what changes names, that a stack wants
std::atomic<bool> active = false;
std::atomic<unsigned> highest = 0;  // descriptor that ever was managed

// A call of libc's that a stage ends in: others who stand in for it may come back to us by its number.
template <class Call>
auto below(Call call) {
  ++within.calls;
  const auto out = call();
  within.calls -= within.calls > 0 ? 1 : 0;
  return out;
}

int close_below(int fd) {
  return below([&] { return real.close(fd); });
}
int closed_already(int) {
  return 0;
}

// Through `real` and not copies of it: it is filled later than this.
constexpr Calls calls_with(int (*close)(int)) {
  return {
      .openat = [](int folder, const char* path, int flags,
                   mode_t mode) { return below([&] { return open_native(folder, path, flags, mode); }); },
      .close = close,
      .read = [](int fd, void* data,
                 std::size_t length) { return below([&] { return real.read(fd, data, length); }); },
      .pread = [](int fd, void* data, std::size_t length,
                  off_t offset) { return below([&] { return real.pread(fd, data, length, offset); }); },
      .write = [](int fd, const void* data,
                  std::size_t length) { return below([&] { return real.write(fd, data, length); }); },
      .pwrite = [](int fd, const void* data, std::size_t length,
                   off_t offset) { return below([&] { return real.pwrite(fd, data, length, offset); }); },
      .lseek = [](int fd, off_t offset,
                  int whence) { return below([&] { return real.lseek(fd, offset, whence); }); },
      .fsync = [](int fd) { return below([&] { return real.fsync(fd); }); },
      .fdatasync = [](int fd) { return below([&] { return real.fdatasync(fd); }); },
      .ftruncate = [](int fd, off_t size) { return below([&] { return real.ftruncate(fd, size); }); },
      .fallocate =
          [](int fd, int mode, off_t offset, off_t length) {
            return below([&] { return real.fallocate(fd, mode, offset, length); });
          },
      .change_names = nullptr,  // see calls_that_change_names
  };
}
constexpr Calls calls = calls_with(close_below);
constexpr Calls calls_when_closed = calls_with(closed_already);

// Stages do not end in the middle, with what they hold: a thread is cancelled before a call or after it. And
// not in one whose own call of libc would be no place for that, because a stage writes something first.
class NotCancelled {
 public:
  NotCancelled() : alone_(is_single_threaded()) {
    if (!alone_ && within.uncancelled++ == 0) [[unlikely]] {
      pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &within.cancel_state);
    }
  }
  NotCancelled(const NotCancelled&) = delete;
  NotCancelled& operator=(const NotCancelled&) = delete;
  // A handler that jumped within itself has left already.
  ~NotCancelled() {
    if (!alone_ && within.uncancelled > 0 && --within.uncancelled == 0) [[unlikely]] {
      pthread_setcancelstate(within.cancel_state, nullptr);
    }
  }

 private:
  bool alone_;
};

// What stands for the call, of this thread.
struct Performing {
  Perform perform = nullptr;
  void* context = nullptr;
};
__attribute__((tls_model("initial-exec"))) thread_local constinit Performing performing;

std::int64_t performed() {
  return below([] { return performing.perform(performing.context); });
}

// What is performed has no data; a stage that writes something else of the file first has.
constexpr Calls calls_performed = [] {
  Calls out = calls;
  out.openat = [](int, const char*, int, mode_t) { return static_cast<int>(performed()); };
  out.ftruncate = [](int, off_t) { return static_cast<int>(performed()); };
  out.read = [](int fd, void* data, std::size_t length) {
    return data == nullptr ? performed() : calls.read(fd, data, length);
  };
  out.pread = [](int fd, void* data, std::size_t length, off_t offset) {
    return data == nullptr ? performed() : calls.pread(fd, data, length, offset);
  };
  out.write = [](int fd, const void* data, std::size_t length) {
    return data == nullptr ? performed() : calls.write(fd, data, length);
  };
  out.pwrite = [](int fd, const void* data, std::size_t length, off_t offset) {
    return data == nullptr ? performed() : calls.pwrite(fd, data, length, offset);
  };
  return out;
}();

constexpr Calls calls_that_change_names = [] {
  Calls out = calls;
  out.change_names = [] { return static_cast<int>(performed()); };
  return out;
}();

__attribute__((always_inline)) inline std::int64_t act_with(const Calls& at_the_end, const Stack& stack,
                                                            FileStates& states, sluice_activity& activity) {
  const NotCancelled whole;
  const bool foreign = stack.is_foreign();
  const unsigned before = foreign ? inside_foreign++ : 0;
  const std::int64_t result = stack.act(at_the_end, states, activity);
  if (foreign) [[unlikely]] {
    inside_foreign = before;
  }
  if (result < 0) {
    errno = activity.error;
  }
  return result;
}

__attribute__((always_inline)) inline std::int64_t act_with(const Calls& at_the_end, File& file,
                                                            sluice_activity& activity) {
  return act_with(at_the_end, *file.stack, file.states, activity);
}

sluice_activity activity_on(const char* path, sluice_operation operation, int fd) {
  sluice_activity out = {};
  out.size = sizeof out;
  out.operation = operation;
  out.descriptor = fd;
  out.path = path;
  return out;
}
sluice_activity activity_on(const File& file, sluice_operation operation, int fd) {
  return activity_on(file.path, operation, fd);
}

// An activity whose operation something else performs than the call of its kind.
std::int64_t act_performed(const Stack& stack, FileStates& states, sluice_activity& activity, Perform perform,
                           void* context, const Calls& below = calls_performed) {
  const Performing before = performing;  // of what a signal's handler came into
  performing = {.perform = perform, .context = context};
  const std::int64_t out = act_with(below, stack, states, activity);
  performing = before;
  return out;
}

// The folder that a path is relative to; its length, or 0 where that cannot be told.
std::size_t folder_text(int folder, char* out, std::size_t size) {
  if (folder == AT_FDCWD) {
    const long length = syscall(SYS_getcwd, out, size);
    return length > 1 && out[0] == '/' ? static_cast<std::size_t>(length) - 1 : 0;
  }
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
  const ssize_t length = readlink(link, out, size);
  return length > 0 && out[0] == '/' && static_cast<std::size_t>(length) < size
             ? static_cast<std::size_t>(length)
             : 0;
}

// See absolute_path(). As text, absolute, without empty, "." and ".." components. False where it is too long
// or cannot be told.
bool absolute(int folder, const char* path, char (&out)[longest_path]) {
  std::size_t size = 0;
  if (path[0] != '/') {
    size = folder_text(folder, out, longest_path);
    if (size == 0) {
      return false;
    }
    size = size == 1 ? 0 : size;  // the root ends in '/'
  }
  for (const char* rest = path; *rest != 0;) {
    const std::size_t length = std::strcspn(rest, "/");
    const std::string_view part(rest, length);
    rest += length + (rest[length] == '/' ? 1 : 0);
    if (part.empty() || part == ".") {
      continue;
    }
    if (part == "..") {
      while (size > 0 && out[--size] != '/') {
      }
      continue;
    }
    if (size + 1 + length >= longest_path) {
      return false;
    }
    out[size++] = '/';
    std::memcpy(out + size, part.data(), length);
    size += length;
  }
  out[size] = 0;
  return size > 0;
}

bool append(char (&path)[longest_path], std::string_view more) {
  const std::size_t size = std::strlen(path);
  if (size + more.size() >= longest_path) {
    return false;
  }
  std::memcpy(path + size, more.data(), more.size());
  path[size + more.size()] = 0;
  return true;
}

// Files of these are not storage.
bool is_kernels(std::string_view path) {
  return path.starts_with("/proc/") || path.starts_with("/sys/") ||
         (path.starts_with("/dev/") && !path.starts_with("/dev/shm/"));
}

const Stack* stack_for(std::string_view path) {
  const Area* area = this_area();
  const AreaRule* rule = area == nullptr || is_kernels(path) ? nullptr : area->rule_for(path);
  const auto index = rule == nullptr ? most_rules : static_cast<std::size_t>(rule - area->all_rules().data());
  const std::size_t stack = index < most_rules ? stack_of_rule[index] : 0;
  return stack == 0 ? nullptr : &stacks[stack - 1];
}

bool is_regular(int fd, struct stat& found) {
  return syscall(SYS_fstat, fd, &found) == 0 && S_ISREG(found.st_mode);
}

bool map_area(const char* path) {
  const int fd = real.open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    return false;
  }
  struct stat found {};
  const bool good = syscall(SYS_fstat, fd, &found) == 0 && found.st_uid == geteuid() &&
                    static_cast<std::size_t>(found.st_size) >= sizeof(Area);
  const auto size = static_cast<std::size_t>(found.st_size);
  void* memory = good ? mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  real.close(fd);
  if (memory == MAP_FAILED) {
    return false;
  }
  if (!is_area(memory, size)) {
    munmap(memory, size);
    return false;
  }
  set_area(static_cast<Area*>(memory));
  return true;
}

// Descriptors that were there when the program was started: a shell's redirections.
void adopt_inherited() {
  const int folder = real.open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  alignas(std::uint64_t) char entries[4096];
  long size = 0;
  while (folder >= 0 && (size = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0) {
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      const int fd = std::atoi(entry->d_name);
      char path[longest_path];
      struct stat found {};
      if (entry->d_name[0] == '.' || fd == folder || !is_regular(fd, found)) {
        continue;
      }
      const ssize_t length = readlinkat(folder, entry->d_name, path, sizeof path - 1);
      if (length <= 0 || path[0] != '/') {
        continue;
      }
      path[length] = 0;
      if (File* file = begin(AT_FDCWD, path, static_cast<int>(syscall(SYS_fcntl, fd, F_GETFL)))) {
        attach(*file, fd);
      }
    }
  }
  if (folder >= 0) {
    real.close(folder);
  }
}

void note_highest(int fd) {
  unsigned seen = highest.load();
  while (seen < static_cast<unsigned>(fd) &&
         !highest.compare_exchange_weak(seen, static_cast<unsigned>(fd))) {
  }
}

File* exchange(int fd, File* file) {
  const Entering now;
  return files[fd].exchange(file);
}

// Takes a descriptor's place, and whoever had it out of it.
void put(int fd, File* file) {
  note_highest(fd);
  if (File* before = exchange(fd, file); before != nullptr) {
    before->descriptors.fetch_sub(1);
    release(before);
  }
}

// 0, or errno.
int settle_file(File& file, int fd, int flags) {
  const int saved = errno;
  int out = 0;
  if (file.stack->wants(SLUICE_SETTLE) && act(file, SLUICE_SETTLE, fd, nullptr, 0, 0, flags) < 0) {
    out = errno;
  }
  errno = saved;
  return out;
}

// A duplicate that no stage sees: nothing is kept back of the file any more, and it is what the first one is
// by then.
void share_unmanaged(int fd, int other) {
  if (const Held file = managed(fd, SLUICE_SETTLE); file) {
    const int saved = errno;
    settle_file(*file, fd, SLUICE_SETTLE_RETIRE);
    const bool closes = (syscall(SYS_fcntl, other, F_GETFD) & FD_CLOEXEC) != 0;
    syscall(SYS_dup3, fd, other, closes ? O_CLOEXEC : 0);
    errno = saved;
  }
}

// Another thread may close a descriptor while this one settles its file by that number, and a third be given
// it. So as long as this lives, and is good, whoever takes it out of the table waits before the kernel closes
// it. (A duplicate would do as well, but its close would end the process's record locks.)
class Borrowed {
 public:
  Borrowed(File& file, int fd) : file_(&file), before_(last) {
    file.borrowed.fetch_add(1);
    last = this;
    good_ = files[fd].load() == &file;
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() {
    give_back();
    last = before_;
  }
  explicit operator bool() const { return good_; }

  static bool any() { return last != nullptr; }
  // This thread jumps out of all of them, or out of a handler that came into them.
  static void leave() {
    for (Borrowed* one = last; one != nullptr; one = one->before_) {
      one->give_back();
    }
    last = nullptr;
  }

 private:
  void give_back() {
    if (file_ != nullptr) {
      file_->borrowed.fetch_sub(1);
      file_ = nullptr;
    }
  }

  __attribute__((tls_model("initial-exec"))) static thread_local constinit Borrowed* last;
  File* file_;
  Borrowed* before_;
  bool good_;
};
thread_local constinit Borrowed* Borrowed::last = nullptr;

// Not by who borrows something itself: a handler that came into that would wait for its own thread. Nor for
// ever, as a thread that borrowed it may be gone.
void wait_for_borrowers(const File& file) {
  constexpr int most_naps = 100000;
  for (int naps = 0; file.borrowed.load() != 0 && !Borrowed::any() && naps < most_naps; ++naps) {
    const timespec nap{.tv_sec = 0, .tv_nsec = 50000};
    syscall(SYS_nanosleep, &nap, nullptr);
  }
}

// Settles each file that has a descriptor, as the flags say that a function gives for it; -1 = not that one.
template <class Flags>
void settle_each(Flags flags_for) {
  constexpr int most_looks = 16;
  bool again = true;
  // A file may get another number meanwhile, which was passed already.
  for (int looks = 0; again && looks < most_looks; ++looks) {
    again = false;
    const unsigned end = highest.load();
    for (unsigned number = 0; number <= end; ++number) {
      const auto fd = static_cast<int>(number);
      if (files[fd].load(std::memory_order_acquire) == nullptr) {
        continue;
      }
      const Held file(hold(fd));
      const int flags = file && file->stack->wants(SLUICE_SETTLE) ? flags_for(*file, fd) : -1;
      if (flags < 0) {
        continue;
      }
      if (is_single_threaded()) {
        settle_file(*file, fd, flags);
      } else if (const Borrowed borrowed(*file, fd); borrowed) {
        settle_file(*file, fd, flags);
      } else {
        again = true;
      }
    }
  }
}

// What is kept back of the file that a path names.
void settle_named(int folder, const char* path, bool follow, int flags) {
  const int saved = errno;
  struct stat found {};
  if (path != nullptr &&
      syscall(SYS_newfstatat, folder, path, &found, follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISREG(found.st_mode)) {
    settle(found.st_dev, found.st_ino, flags);
  }
  errno = saved;
}

}  // namespace

bool absolute_path(int folder, const char* path, char (&out)[longest_path]) {
  const int saved = errno;
  const bool told = path != nullptr && absolute(folder, path, out);
  errno = saved;
  return told;
}

void say(const char* what, const char* why) {
  Line().add(what).add(": ").escape(why).say();
}

void leave_stages() {
  const bool uncancelled = within.uncancelled > 0;
  inside_foreign = 0;
  Borrowed::leave();
  within.calls = 0;
  within.numbers = 0;
  within.uncancelled = 0;
  if (uncancelled) {
    pthread_setcancelstate(within.cancel_state, nullptr);
  }
}

std::int64_t act(File& file, sluice_activity& activity) {
  return act_with(calls, file, activity);
}

std::int64_t act(File& file, sluice_operation operation, int fd, void* data, std::size_t length,
                 std::int64_t offset, int flags) {
  sluice_activity activity = activity_on(file, operation, fd);
  activity.flags = flags;
  activity.offset = offset;
  activity.length = length;
  activity.data = data;
  return act_with(calls, file, activity);
}

std::int64_t act(File& file, sluice_operation operation, int fd, std::size_t length, std::int64_t offset,
                 Perform perform, void* context) {
  sluice_activity activity = activity_on(file, operation, fd);
  activity.offset = offset;
  activity.length = length;
  return act_performed(*file.stack, file.states, activity, perform, context);
}

std::int64_t act_open(File& file, int folder, const char* path, int flags, mode_t mode, Perform perform,
                      void* context) {
  sluice_activity activity = activity_on(file, SLUICE_OPEN, folder);
  activity.flags = flags;
  activity.mode = mode;
  activity.target = perform == nullptr ? path : nullptr;
  const std::int64_t fd = perform == nullptr
                              ? act_with(calls, file, activity)
                              : act_performed(*file.stack, file.states, activity, perform, context);
  if (fd < 0) {
    abandon(file);
  } else {
    attach(file, static_cast<int>(fd), activity.length == 1);
    hear_priority(static_cast<int>(fd));
  }
  return fd;
}

bool wants_names(sluice_operation operation) {
  return (wanted_names.load(std::memory_order_relaxed) & SLUICE_BIT(operation)) != 0 && inside_foreign == 0;
}

std::int64_t act_names(sluice_operation operation, const Name& name, const Name& other, int flags,
                       Perform perform, void* context) {
  const int saved = errno;
  const PathRoom first;
  const PathRoom second;
  const Stack* stack = nullptr;
  if (first && is_memory(name.path, 1) && absolute(name.folder, name.path, first.text())) {
    // A folder is meant where the files in it are.
    const std::size_t length = std::strlen(first.text());
    if (operation == SLUICE_SYNC_FOLDER) {
      append(first.text(), "/in-it");
    }
    stack = stack_for(first.text());
    first.text()[length] = 0;
    if (other.path != nullptr &&
        (!second || !is_memory(other.path, 1) || !absolute(other.folder, other.path, second.text()))) {
      stack = nullptr;
    } else if (other.path != nullptr && stack == nullptr) {
      stack = stack_for(second.text());
    }
  }
  errno = saved;
  if (stack == nullptr || !stack->wants(operation)) {
    return perform(context);
  }
  sluice_activity activity = activity_on(first.text(), operation, name.folder);
  activity.flags = flags;
  activity.target = other.path == nullptr ? nullptr : second.text();
  FileStates none = {};
  return act_performed(*stack, none, activity, perform, context, calls_that_change_names);
}

bool is_active() {
  return active.load(std::memory_order_relaxed);
}

File* begin(int folder, const char* path, int flags) {
  const bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
  if (!is_active() || inside_foreign != 0 || path == nullptr ||
      (!nameless && (flags & (O_PATH | O_DIRECTORY)) != 0)) {
    return nullptr;
  }
  if (!nameless && this_area()->keeping.load(std::memory_order_relaxed) != 0) {
    settle_named(folder, path, (flags & O_NOFOLLOW) == 0, SLUICE_SETTLE_RETIRE);
  }
  const int saved = errno;
  const PathRoom room;
  // A file without a name is one of its folder's.
  const bool told =
      room && absolute(folder, path, room.text()) && (!nameless || append(room.text(), "/.nameless"));
  const Stack* stack = told ? stack_for(room.text()) : nullptr;
  if (is_parted() && (stack == nullptr || !stack->changes_opens())) [[unlikely]] {
    make_native(folder, path);
  }
  File* file = stack == nullptr ? nullptr : pool.take();
  if (stack != nullptr && file == nullptr) {
    this_area()->unmanaged.fetch_add(1);
  }
  errno = saved;
  if (file == nullptr) {
    return nullptr;
  }
  file->users = 1;
  file->stack = stack;
  file->states = {};
  std::memcpy(file->path, room.text(), std::strlen(room.text()) + 1);
  return file;
}

void attach(File& file, int fd, bool standin) {
  struct stat found {};
  if (static_cast<unsigned>(fd) >= most_descriptors || (!standin && !is_regular(fd, found))) {
    if (standin) {
      settle_file(file, fd, SLUICE_SETTLE_RETIRE);
    }
    abandon(file);
    return;
  }
  file.device = found.st_dev;
  file.inode = found.st_ino;
  file.descriptors = 1;
  put(fd, &file);  // its first user
}

void abandon(File& file) {
  const int saved = errno;
  file.users = 0;
  sluice_activity activity = activity_on(file, SLUICE_CLOSE, -1);
  // Stages that have seen the open let go of what they remember.
  for (const void* state : file.states) {
    if (state != nullptr) {
      act_with(calls_when_closed, file, activity);
      break;
    }
  }
  pool.give_back(&file);
  errno = saved;
}

void share(int fd, int other) {
  if (static_cast<unsigned>(other) >= most_descriptors) {
    if (other >= 0) {
      share_unmanaged(fd, other);
    }
    return;
  }
  File* file = static_cast<unsigned>(fd) < most_descriptors ? hold(fd) : nullptr;
  if (file != nullptr) {
    file->descriptors.fetch_add(1);
  }
  put(other, file);
}

File* detach(int fd) {
  File* file = static_cast<unsigned>(fd) < most_descriptors ? files[fd].exchange(nullptr) : nullptr;
  if (file == nullptr) {
    return nullptr;
  }
  wait_for_borrowers(*file);
  if (file->descriptors.fetch_sub(1) == 1) {
    unsigned alone = 1;
    if (file->users.compare_exchange_strong(alone, 0)) {
      return file;
    }
    // Another call is under way with it; if that one ends last it has no descriptor to write to.
    settle_file(*file, fd, SLUICE_SETTLE_RETIRE);
  }
  return file->users.fetch_sub(1) == 1 ? file : nullptr;
}

void forget(int fd) {
  if (File* file = detach(fd); file != nullptr) {
    settle_file(*file, fd, SLUICE_SETTLE_RETIRE | SLUICE_SETTLE_LEAVE);
    abandon(*file);
  }
}

void advise(int fd, std::int64_t offset, std::uint64_t length, int flags) {
  if (const Held file = managed(fd, SLUICE_ADVISE); file) {
    const int saved = errno;
    act(*file, SLUICE_ADVISE, fd, nullptr, length, offset, flags);
    errno = saved;
  }
}

bool is_file(int fd, std::uint64_t device, std::uint64_t inode) {
  const Held file = managed(fd, SLUICE_ADVISE);
  return file && file->device == device && file->inode == inode;
}

bool is_keeping() {
  const Area* area = this_area();
  return area != nullptr && (area->keeping.load(std::memory_order_relaxed) != 0 || has_pending(*area));
}

bool may_keep() {
  const Area* area = this_area();
  return area != nullptr && area->buffers != 0;
}

int settle(int fd, int flags) {
  if (static_cast<unsigned>(fd) >= most_descriptors || files[fd].load() == nullptr) {
    return 0;
  }
  const Held file(hold(fd));
  return file ? settle_file(*file, fd, flags) : 0;
}

int settle_to_use(int fd, int flags) {
  const int error = settle(fd, flags);
  struct stat found {};
  return error != 0 && syscall(SYS_fstat, fd, &found) == 0 && is_standin(found) ? error : 0;
}

std::int64_t ask(int fd, int flags, void* data, std::size_t length) {
  const int saved = errno;
  const Held file = managed(fd, SLUICE_SETTLE);
  const std::int64_t out = file ? act(*file, SLUICE_SETTLE, fd, data, length, 0, flags) : 0;
  errno = saved;
  return out;
}

void settle(std::uint64_t device, std::uint64_t inode, int flags) {
  settle_each(
      [&](const File& file, int) { return file.inode == inode && file.device == device ? flags : -1; });
}

int settle(int folder, const char* path, bool follow, int flags) {
  const int error = put_down_name(folder, path);
  settle_named(folder, path, follow, flags);
  return error;
}

void settle_all(int flags) {
  settle_each([&](const File&, int) { return flags; });
}

void settle_for_exec(bool only_inherited) {
  settle_each([&](const File&, int fd) {
    const bool inherited = (syscall(SYS_fcntl, fd, F_GETFD) & FD_CLOEXEC) == 0;
    return inherited         ? SLUICE_SETTLE_RETIRE | SLUICE_SETTLE_SHARE
           : !only_inherited ? SLUICE_SETTLE_RETIRE | SLUICE_SETTLE_SHARE | SLUICE_SETTLE_LEAVE
                             : -1;
  });
}

void before_fork() {
  begin_fork();
  settle_all(SLUICE_SETTLE_SHARE);
}
void after_fork() {
  end_fork();
}
void after_fork_in_child() {
  end_fork_in_child();
  // Who borrowed one is not in this process.
  Borrowed::leave();
  for (unsigned fd = 0; fd <= highest.load(); ++fd) {
    if (File* file = files[fd].load(); file != nullptr) {
      file->borrowed = 0;
    }
  }
  this_area()->processes.fetch_add(1);
  forget_priority();
}

void forget(unsigned first, unsigned last) {
  const unsigned end = highest.load();
  for (unsigned fd = first; fd <= last && fd <= end; ++fd) {
    forget(static_cast<int>(fd));
  }
}

void start() {
  const char* path = std::getenv("SLUICE_RUN");
  if (path == nullptr || *path == 0) {
    return;
  }
  if (!map_area(path)) {
    return;  // another user's process, another root, or a run that is over: as without us
  }
  Area& area = *this_area();
  area.processes.fetch_add(1);
  if (area.moves != 0) {
    begin_process();  // whose locks others can tell from their own
    if (area.thread_execs != 0) {
      let_go_of_inherited(area);
    }
  }
  const std::span<const AreaRule> rules = area.all_rules();
  std::size_t used = 0;
  for (std::size_t i = 0; i < rules.size() && i < most_rules; ++i) {
    std::string_view specs = area.stages_of(rules[i]);
    for (std::size_t j = 0; j < i && stack_of_rule[i] == 0; ++j) {
      stack_of_rule[i] = area.stages_of(rules[j]) == specs ? stack_of_rule[j] : 0;
    }
    if (stack_of_rule[i] != 0 || used == most_stacks) {
      continue;
    }
    Stack& stack = stacks[used++];
    stack_of_rule[i] = static_cast<std::uint16_t>(used);
    while (!specs.empty()) {
      const std::size_t end = specs.find('\n');
      std::array<char, 1024> why = {};
      if (!stack.add(specs.substr(0, end), stages(), why)) {
        say("a stage is left out", why.data());
      }
      specs = end == std::string_view::npos ? std::string_view() : specs.substr(end + 1);
    }
    for (const auto operation :
         {SLUICE_REMOVE, SLUICE_RENAME, SLUICE_LINK, SLUICE_MAKE_FOLDER, SLUICE_SYNC_FOLDER}) {
      wanted_names.fetch_or(stack.wants(operation) ? SLUICE_BIT(operation) : 0);
    }
  }
  pthread_atfork(before_fork, after_fork, after_fork_in_child);
  active.store(true);
  adopt_inherited();
}

}  // namespace sluice::preload

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
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "fronts/preload/forks.h"
#include "fronts/preload/hints.h"
#include "fronts/preload/paths.h"
#include "fronts/preload/pending.h"
#include "pipeline/area.h"
#include "pipeline/entries.h"
#include "pipeline/line.h"
#include "pipeline/pool.h"
#include "stages/registry.h"
#include "stages/smallfiles/standin.h"

namespace sluice::preload {

constinit std::atomic<File*> files[most_descriptors] = {};
constinit File refused;
thread_local constinit int refusal = 0;
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

// Files of these are not storage.
bool is_kernels(std::string_view path) {
  return path.starts_with("/proc/") || path.starts_with("/sys/") ||
         (path.starts_with("/dev/") && !path.starts_with("/dev/shm/"));
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
  each_entry(folder, [folder](const dirent64& entry) {
    const int fd = std::atoi(entry.d_name);
    char path[longest_path];
    struct stat found {};
    if (entry.d_name[0] == '.' || fd == folder || !is_regular(fd, found)) {
      return true;
    }
    const ssize_t length = readlinkat(folder, entry.d_name, path, sizeof path - 1);
    if (length <= 0 || path[0] != '/') {
      return true;
    }
    path[length] = 0;
    File* file = begin(AT_FDCWD, path, static_cast<int>(syscall(SYS_fcntl, fd, F_GETFL)));
    if (file != nullptr && file != &refused) {
      attach(*file, fd);
    }
    return true;
  });
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
// 0, or errno of the first that could not be.
template <class Flags>
int settle_each(Flags flags_for) {
  constexpr int most_looks = 16;
  int error = 0;
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
      int failed = 0;
      if (is_single_threaded()) {
        failed = settle_file(*file, fd, flags);
      } else if (const Borrowed borrowed(*file, fd); borrowed) {
        failed = settle_file(*file, fd, flags);
      } else {
        again = true;
      }
      error = error != 0 ? error : failed;
    }
  }
  return error;
}

// What is kept back of the file that a path names.
int settle_named(int folder, const char* path, bool follow, int flags) {
  const int saved = errno;
  int error = 0;
  struct stat found {};
  if (path != nullptr &&
      syscall(SYS_newfstatat, folder, path, &found, follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISREG(found.st_mode)) {
    error = settle(found.st_dev, found.st_ino, flags);
  }
  errno = saved;
  return error;
}

}  // namespace

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

const Stack* stack_for(std::string_view path) {
  const Area* area = this_area();
  const AreaRule* rule = area == nullptr || is_kernels(path) ? nullptr : area->rule_for(path);
  const auto index = rule == nullptr ? most_rules : static_cast<std::size_t>(rule - area->all_rules().data());
  const std::size_t stack = index < most_rules ? stack_of_rule[index] : 0;
  return stack == 0 ? nullptr : &stacks[stack - 1];
}

bool wants_names(sluice_operation operation) {
  return (wanted_names.load(std::memory_order_relaxed) & SLUICE_BIT(operation)) != 0 && inside_foreign == 0;
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
    const int error = settle_named(folder, path, (flags & O_NOFOLLOW) == 0, SLUICE_SETTLE_RETIRE);
    // What cannot be written would be missing there, or come back into a file that is empty by then.
    if (error != 0 && (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL)) {
      refusal = error;
      return &refused;
    }
  }
  const int saved = errno;
  const PathRoom room;
  // A file without a name is one of its folder's.
  const bool told =
      room && absolute_path(folder, path, room.text()) && (!nameless || append(room.text(), "/.nameless"));
  const Stack* stack = told ? stack_for(room.text()) : nullptr;
  if (is_parted() && (stack == nullptr || !stack->combines())) [[unlikely]] {
    make_native(folder, path);
  }
  File* file = stack == nullptr ? nullptr : pool.take();
  if (stack != nullptr && file == nullptr) {
    this_area()->unmanaged.fetch_add(1);
  }
  errno = saved;
  if (file == nullptr) {
    refusal = ENFILE;
    return stack != nullptr && stack->is_indispensable() ? &refused : nullptr;
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
  // Stages that have seen the open let go of what they remember.
  for (const void* state : file.states) {
    if (state != nullptr) {
      act_closed(file);
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

static bool has_file(int fd) {
  return static_cast<unsigned>(fd) < most_descriptors && files[fd].load() != nullptr;
}

int settle(int fd, int flags) {
  if (!has_file(fd)) {
    return 0;
  }
  const Held file(hold(fd));
  return file ? settle_file(*file, fd, flags) : 0;
}

int settle_to_look(int fd, int flags) {
  const int error = settle(fd, flags);
  struct stat found {};
  return error != 0 && syscall(SYS_fstat, fd, &found) == 0 && is_standin(found) ? error : 0;
}

int settle_beside(int fd) {
  struct stat found {};
  settle_all(0);  // one file system may have several numbers
  return syscall(SYS_fstat, fd, &found) != 0
             ? 0
             : settle_each([&](const File& file, int) { return file.device == found.st_dev ? 0 : -1; });
}

std::int64_t ask(int fd, int flags, void* data, std::size_t length) {
  const int saved = errno;
  const Held file = managed(fd, SLUICE_SETTLE);
  const std::int64_t out = file ? act(*file, SLUICE_SETTLE, fd, data, length, 0, flags) : 0;
  errno = saved;
  return out;
}

int settle(std::uint64_t device, std::uint64_t inode, int flags) {
  return settle_each(
      [&](const File& file, int) { return file.inode == inode && file.device == device ? flags : -1; });
}

int settle(int folder, const char* path, bool follow, int flags) {
  const int error = put_down_name(folder, path);
  settle_named(folder, path, follow, flags);
  return error;
}

bool settle_unmanaged(int fd, const struct stat& found) {
  bool some = false;
  if (!has_file(fd) && S_ISREG(found.st_mode)) {
    const int saved = errno;
    settle_each([&](const File& file, int) {
      const bool same = file.inode == found.st_ino && file.device == found.st_dev;
      some = some || same;
      return same ? 0 : -1;
    });
    errno = saved;
  }
  return some;
}

int settle_at(int folder, const char* path, int flags) {
  // libc's headers promise the compiler that there is a path, and programs do not keep to it.
  asm("" : "+r"(path));
  if (path == nullptr || (*path == 0 && (flags & AT_EMPTY_PATH) != 0)) {
    struct stat found {};
    if (!has_file(folder) && folder >= 0 && syscall(SYS_fstat, folder, &found) == 0) {
      settle_unmanaged(folder, found);
    }
    return settle_to_look(folder, 0);
  }
  return settle(folder, path, (flags & AT_SYMLINK_NOFOLLOW) == 0, 0);
}

int settle_all(int flags) {
  return settle_each([&](const File&, int) { return flags; });
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
  // A child that parts from the run would keep things back where nobody finds them.
  const int retires = held_locks.count != 0 ? SLUICE_SETTLE_RETIRE : 0;
  settle_all(SLUICE_SETTLE_SHARE | retires);
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
  area.loaded.fetch_add(1);
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

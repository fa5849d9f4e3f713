// Open files that have a stack of stages, by descriptor. A file is an open file description: descriptors that
// were duplicated share it.
//
// Any thread, also signal handlers: nothing here allocates or locks.
#pragma once

#include <pthread.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <string_view>

#include "fronts/preload/paths.h"
#include "fronts/preload/real.h"
#include "pipeline/stack.h"

namespace sluice::preload {

inline constexpr unsigned most_descriptors = 65536;  // those above are not managed

struct File {
  std::atomic<unsigned> users = 0;        // descriptors, and calls under way; 0 = nobody's
  std::atomic<unsigned> descriptors = 0;  // alone
  std::atomic<unsigned> borrowed =
      0;  // threads that settle it by a descriptor that may be another's to close
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  const Stack* stack = nullptr;
  FileStates states = {};
  char path[longest_path] = {};
};

extern constinit std::atomic<File*> files[most_descriptors];

// libc knows whether there ever was a second thread; an old one does not, and then there may be.
extern "C" __attribute__((weak)) char __libc_single_threaded;  // NOLINT(*-redundant-declaration)
inline bool is_single_threaded() {
  return &__libc_single_threaded != nullptr && __libc_single_threaded != 0;
}

// Nobody has it any more: its stages let go of what they remember.
void abandon(File& file);
// One user less.
inline void release(File* file) {
  if (is_single_threaded()) {
    // Without a lock on the bus. What a signal's handler does meanwhile it has undone when it returns.
    const unsigned users = file->users.load(std::memory_order_relaxed);
    if (users > 1) [[likely]] {
      file->users.store(users - 1, std::memory_order_relaxed);
      return;
    }
  }
  if (file->users.fetch_sub(1) == 1) [[unlikely]] {
    abandon(*file);
  }
}
// More than 0: a stage of somebody else is at work, and what it does itself is not to come back to it.
__attribute__((tls_model("initial-exec"))) extern thread_local constinit unsigned inside_foreign;

// A file for the length of a call: it stays what it is, also when its descriptor is closed meanwhile.
class Held {
 public:
  Held() = default;
  explicit Held(File* file) : file_(file) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (file_ != nullptr) [[unlikely]] {
      release(file_);
    }
  }
  explicit operator bool() const { return file_ != nullptr; }
  File& operator*() const { return *file_; }
  File* operator->() const { return file_; }

 private:
  File* file_ = nullptr;
};

// The file of a descriptor, one more user of it; null where there is none. One that nobody has any more may
// be another's already: it counts only while it is in the table.
inline File* hold(int fd) {
  File* file = files[fd].load(std::memory_order_acquire);
  if (file == nullptr || inside_foreign != 0) {
    return nullptr;
  }
  unsigned users = file->users.load(std::memory_order_relaxed);
  if (users > 0 && is_single_threaded()) {
    file->users.store(users + 1, std::memory_order_relaxed);
    return file;
  }
  while (users > 0 && !file->users.compare_exchange_weak(users, users + 1)) {
  }
  if (users == 0) {
    return nullptr;
  }
  if (files[fd].load(std::memory_order_relaxed) != file) {
    release(file);
    return nullptr;
  }
  return file;
}

// The file of a descriptor whose stack wants that operation; nothing for all others.
inline Held managed(int fd, sluice_operation operation) {
  if (static_cast<unsigned>(fd) >= most_descriptors || files[fd].load(std::memory_order_acquire) == nullptr)
      [[likely]] {
    return {};
  }
  File* file = hold(fd);
  if (file != nullptr && !file->stack->wants(operation)) {
    const Held release(file);
    return {};
  }
  return Held(file);
}

// Where a thread may be cancelled, as in libc's own call: before anything is done.
inline void cancel_point() {
  if (!is_single_threaded()) {
    pthread_testcancel();
  }
}
inline void cancel_point(int fd) {
  if (static_cast<unsigned>(fd) < most_descriptors && files[fd].load(std::memory_order_acquire) != nullptr)
      [[unlikely]] {
    cancel_point();
  }
}
inline Held managed_point(int fd, sluice_operation operation) {
  cancel_point(fd);
  return managed(fd, operation);
}

// How deep a thread is in calls of ours.
struct Within {
  unsigned calls = 0;        // of libc's, that stages end in
  unsigned numbers = 0;      // by their number
  unsigned uncancelled = 0;  // and what it had before:
  int cancel_state = PTHREAD_CANCEL_ENABLE;
};
__attribute__((tls_model("initial-exec"))) extern thread_local constinit Within within;
// It has left all of them, or jumps out.
void leave_stages();

// Passes an activity through the stack; sets errno where it failed.
std::int64_t act(File& file, sluice_activity& activity);
std::int64_t act(File& file, sluice_operation operation, int fd, void* data, std::size_t length,
                 std::int64_t offset, int flags = 0);

// An operation that something else than the call of its kind performs.
using Perform = std::int64_t (*)(void* context);
std::int64_t act(File& file, sluice_operation operation, int fd, std::size_t length, std::int64_t offset,
                 Perform perform, void* context);
std::int64_t act_open(File& file, int folder, const char* path, int flags, mode_t mode,
                      Perform perform = nullptr, void* context = nullptr);

// Stages let go of what they remember of a file that is closed.
void act_closed(File& file);

// A name as the program gave it; no path: none.
struct Name {
  int folder;
  const char* path;
};
// What files of an absolute path pass; null where that is nothing.
const Stack* stack_for(std::string_view path);
// Whether any stack wants to see this change of names.
bool wants_names(sluice_operation operation);
// Passes a change of names through the stack of the first, or else of the other.
std::int64_t act_names(sluice_operation operation, const Name& name, const Name& other, int flags,
                       Perform perform, void* context);
// The same where any wants it; else it is just called.
template <class Call>
int change_names(sluice_operation operation, const Name& name, const Name& other, int flags, Call call) {
  if (!wants_names(operation)) [[likely]] {
    return call();
  }
  const Perform perform = [](void* context) -> std::int64_t { return (*static_cast<Call*>(context))(); };
  return static_cast<int>(act_names(operation, name, other, flags, perform, &call));
}

// Stands for a file that must not be opened without its stages, and there is no room for it: who opens it
// gets ENFILE.
extern constinit File refused;
// And why, of this thread.
__attribute__((tls_model("initial-exec"))) extern thread_local constinit int refusal;
// A new one for an open of this path; null where no stack is for it. `path` is as the program gave it.
File* begin(int folder, const char* path, int flags);
// It has its first descriptor, where that is a regular file's; else it is given back.
// `standin`: it is no file of the kernel's yet.
void attach(File& file, int fd, bool standin = false);
// Another descriptor of the same file, or of none.
void share(int fd, int other);
// A descriptor is about to be gone: the file, where nobody else has it. Where only calls under way have it,
// nothing is kept back of it any more.
File* detach(int fd);
// The same where the kernel closes it by itself.
void forget(int fd);
// All in a range.
void forget(unsigned first, unsigned last);

// A hint of the program, which the stages of the file hear: flags as SLUICE_ADVISE says.
void advise(int fd, std::int64_t offset, std::uint64_t length, int flags);
// Whether a descriptor has a file that is this one.
bool is_file(int fd, std::uint64_t device, std::uint64_t inode);

// Whether anything is kept back of any file of this run now, and whether it ever can be.
bool is_keeping();
bool may_keep();
// What is kept back of a file is written, as flags say (SLUICE_SETTLE_...). 0, or errno.
int settle(int fd, int flags);
// The same for who only looks, locks, or says something of it: errno where the descriptor only stands in for
// a file in memory.
int settle_to_look(int fd, int flags);
// All; errno where one on the file system of a descriptor could not be.
int settle_beside(int fd);
int settle(std::uint64_t device, std::uint64_t inode, int flags);
// What is kept back of the file of a descriptor that passes no stages itself (O_PATH), and what is said of
// it; whether there was any.
bool settle_unmanaged(int fd, const struct stat& found);
// The same of the file that a path names; `follow` a link. Errno where it is in memory alone, and stays
// there.
int settle(int folder, const char* path, bool follow, int flags);
// The same as flags of a call say it (AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH), of a descriptor where the path is
// empty.
int settle_at(int folder, const char* path, int flags);
// Errno of the first that could not be.
int settle_all(int flags);
// Before another program takes the place of this one: of the files that it does not get, and those it does.
void settle_for_exec(bool only_inherited);

// Around a fork, in whatever way: what is kept back is written, so that both go on with the same files. libc
// calls them where it forks; where it does not, the child has to look who it is as well.
void before_fork();
void after_fork();
void after_fork_in_child();

// The same, and what the stages did themselves: 1 where one has done what was asked. `data` and `length` as
// the flags say.
std::int64_t ask(int fd, int flags, void* data, std::size_t length);

// A line on standard error.
void say(const char* what, const char* why);
// Whether there is anything to do at all in this process.
bool is_active();
// Reads what the run wants; called once.
void start();

}  // namespace sluice::preload

// How an activity passes the stack of its file, and what performs it at the end.
#include <fcntl.h>
#include <pthread.h>

#include <cerrno>
#include <cstring>

#include "fronts/preload/file.h"
#include "fronts/preload/hints.h"
#include "fronts/preload/paths.h"
#include "fronts/preload/pending.h"
#include "pipeline/area.h"

namespace sluice::preload {
namespace {

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

}  // namespace

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

void act_closed(File& file) {
  sluice_activity activity = activity_on(file, SLUICE_CLOSE, -1);
  act_with(calls_when_closed, file, activity);
}

std::int64_t act_open(File& file, int folder, const char* path, int flags, mode_t mode, Perform perform,
                      void* context) {
  if (&file == &refused) [[unlikely]] {
    errno = refusal;
    return -1;
  }
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

std::int64_t act_names(sluice_operation operation, const Name& name, const Name& other, int flags,
                       Perform perform, void* context) {
  const int saved = errno;
  const PathRoom first;
  const PathRoom second;
  const Stack* stack = nullptr;
  if (first && is_memory(name.path, 1) && absolute_path(name.folder, name.path, first.text())) {
    // A folder is meant where the files in it are.
    const std::size_t length = std::strlen(first.text());
    if (operation == SLUICE_SYNC_FOLDER) {
      append(first.text(), "/in-it");
    }
    stack = stack_for(first.text());
    first.text()[length] = 0;
    if (other.path != nullptr &&
        (!second || !is_memory(other.path, 1) || !absolute_path(other.folder, other.path, second.text()))) {
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

}  // namespace sluice::preload

// New files that are written once and are small stay in the memory of the run beyond their close
// (pipeline/pending.h), and the keeper puts them down together. As long as that is so, the program's
// descriptor is a stand-in, which nothing can be written to; whatever needs a file of the kernel's makes it
// one first, and puts it in the descriptor's place.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/clock.h"
#include "pipeline/answer.h"
#include "pipeline/area.h"
#include "pipeline/parameters.h"
#include "pipeline/path_room.h"
#include "pipeline/pool.h"
#include "pipeline/process.h"
#include "pipeline/settings.h"
#include "stages/smallfiles/folder.h"
#include "stages/smallfiles/standin.h"

// Bare system calls: these are Sluice's own, which pass no stage.
namespace sluice {
namespace {

constexpr std::memory_order relaxed = std::memory_order_relaxed;
constexpr int unkept = O_APPEND | O_SYNC | O_DSYNC | O_DIRECT | O_TMPFILE | O_PATH | O_ASYNC;

struct Settings {
  std::int64_t largest = std::int64_t{256} * 1024;  // files that become larger are made at once
  bool invents = false;                             // a number for who asks what file it is
};
constinit SettingsRoom<Settings, 1> all_settings;

int start(const char* text, void** state, char* error, std::size_t error_size) {
  Parameters parameters(text, error, error_size);
  Settings& out = all_settings.take();
  bool job = false;
  while (parameters.next()) {
    if (parameters.name == "level" && parameters.value == "job") {
      job = true;
    } else if (parameters.name == "level") {
      return parameters.refuse("files that are kept beyond their close need level=job");
    } else if (parameters.name == "identity" &&
               (parameters.value == "true" || parameters.value == "invented")) {
      out.invents = parameters.value == "invented";
    } else if (parameters.name != "largest" || !parameters.number(out.largest) || out.largest < 1 ||
               out.largest > static_cast<std::int64_t>(block_bytes / 2)) {
      return parameters.refuse(
          "smallfiles has level=job, largest=SIZE (1 to 512K) and identity=true or invented");
    }
  }
  if (!parameters.good()) {
    return -1;
  }
  if (!job) {
    parameters.name = "level";
    parameters.value = "";
    return parameters.refuse(
        "say level=job: programs outside of this run see the files when it ends, not when they are closed");
  }
  *state = &out;
  begin_process();
  if (Area* area = this_area(); area != nullptr) {
    area->keeps_small = 1;
  }
  return 0;
}

// An open file. `file` is null where it is one of the kernel's.
// Its lock is for the threads of a process: who has it knows that `file` is still the same one. It is taken
// first.
struct Open {
  std::atomic<std::uint32_t> lock = 0;
  pid_t process = 0;                // that made it, or a child that was forked in the middle
  std::atomic<bool> busy = false;   // a call is changing it
  std::atomic<bool> again = false;  // a handler made it a file of the kernel's meanwhile: do it there
  std::atomic<Pending*> file = nullptr;
  std::int64_t position = 0;
  std::int64_t before = 0;  // the position when the call began; another one says that it is done
  std::int64_t largest = 0;
};
Pool<Open, 4096> opens;

// How often somebody was just removing a folder; after so many times it may be dead.
constinit std::atomic<std::uint32_t> seen_held = 0;
constexpr std::uint32_t held_until_asked = 64;

// As the kernel stamps files.
std::int64_t now() {
  return nanoseconds_of(CLOCK_REALTIME_COARSE);
}

// Whether the text of a path names what the kernel would find: a component ".." may follow a link.
bool is_plain(std::string_view path) {
  return !path.empty() && path.back() != '/' && !path.starts_with("../") && path != ".." &&
         path.find("/../") == std::string_view::npos && !path.ends_with("/..");
}

// Whether nothing is at the path, and its folder is still that one; errno is 0 where something surely is.
// Says what is said of the folder.
bool is_absent(const Area& area, const char* path, const FolderPath& parent, const FolderId& folder,
               struct stat& found) {
  if (syscall(SYS_newfstatat, AT_FDCWD, parent.text, &found, 0) != 0 || found.st_dev != folder.device ||
      found.st_ino != folder.inode || !is_known(area, parent, found)) {
    forget_folder(parent);
    errno = ESTALE;
    return false;
  }
  struct stat there {};
  if (is_known_empty(parent, found)) {
    return true;
  }
  const bool is_there = syscall(SYS_newfstatat, AT_FDCWD, path, &there, AT_SYMLINK_NOFOLLOW) == 0;
  errno = is_there ? 0 : errno;
  return !is_there && errno == ENOENT;
}

// Whether a path is a folder, and which.
bool look_at_folder(const FolderPath& path, FolderId& folder, struct stat& found) {
  if (syscall(SYS_newfstatat, AT_FDCWD, path.text, &found, 0) != 0 || !S_ISDIR(found.st_mode)) {
    return false;
  }
  folder = {.device = found.st_dev, .inode = found.st_ino};
  return true;
}

// A new file in memory, and its stand-in; null where it is better made by the kernel, or `exists`.
Open* make_pending(Area& area, const Settings& settings, sluice_activity& activity, bool& exists) {
  const std::string_view path = activity.path;
  const std::size_t slash = path.rfind('/');
  const PathRoom room;
  if (!room || slash == std::string_view::npos || slash + 1 == path.size() || slash >= PathRoom::size) {
    return nullptr;
  }
  std::memcpy(room.text(), path.data(), slash == 0 ? 1 : slash);
  room.text()[slash == 0 ? 1 : slash] = 0;
  const FolderPath parent(room.text());
  const std::string_view own_name = path.substr(slash + 1);
  struct stat found {};
  FolderId folder = remembered_folder(area, parent);
  bool looked = folder.inode == 0;
  if (own_name.size() > NAME_MAX || (looked && !look_at_folder(parent, folder, found))) {
    return nullptr;
  }
  Pending* other = find_pending(area, folder, own_name);
  if (other != nullptr && !looked) {
    let_go(other->lock);  // it counts where it really is in this folder
    looked = true;
    if (!look_at_folder(parent, folder, found)) {
      return nullptr;
    }
    other = find_pending(area, folder, own_name);
  }
  // Whoever else has it pending is heard of by who opens it for the kernel.
  if (other != nullptr) {
    exists = other->state != Pending::lent;  // that one is in its folder, or was removed there
    let_go(other->lock);
    return nullptr;
  }
  if (looked && !is_good_folder(area, parent, found)) {
    return nullptr;
  }
  const auto user = static_cast<uid_t>(syscall(SYS_geteuid));
  if (user != area.user || static_cast<gid_t>(syscall(SYS_getegid)) != area.group) {
    return nullptr;
  }
  if (is_folder_held(area)) {
    if (seen_held.fetch_add(1, relaxed) % held_until_asked == held_until_asked - 1) {
      end_folder_holds(area);
    }
    return nullptr;
  }
  const NameLock name(area, folder, own_name);
  if (!name) {
    return nullptr;
  }
  const int fd = take_standin((activity.flags & O_CLOEXEC) != 0);
  Open* open = fd < 0 ? nullptr : opens.take();
  Pending* file = open == nullptr ? nullptr
                                  : add_pending(area, folder, path, activity.mode & ~this_umask() & 07777,
                                                activity.flags & ~(O_EXCL | O_NOFOLLOW));
  // Whoever looks for it from now on finds it here; who was faster has made one in the folder, or is about to
  // remove that.
  const bool removed = file != nullptr && is_folder_held(area);
  if (file != nullptr && (removed || !is_absent(area, activity.path, parent, folder, found))) {
    exists = !removed && errno == 0;
    end_pending(area, *file);
    let_go(file->lock);
    file = nullptr;
  }
  if (file == nullptr) {
    if (open != nullptr) {
      opens.give_back(open);
    }
    if (fd >= 0) {
      syscall(SYS_close, fd);
    }
    return nullptr;
  }
  file->descriptor = fd;
  const FolderPrint print = print_of_folder(parent, found);
  file->folder_print = print.handle;
  file->filesystem = print.filesystem;
  file->invents = settings.invents;
  file->user = user;
  file->changed = now();
  file->state.store(Pending::open, std::memory_order_release);
  area.pending_made.fetch_add(1, relaxed);
  let_go(file->lock);
  open->lock = 0;
  open->process = this_process().id;
  open->file.store(file);
  open->position = 0;
  open->largest = settings.largest;
  done(activity, fd);
  activity.length = 1;  // it is no file yet
  return open;
}

std::int64_t open_file(const Settings& settings, void** file_state, sluice_activity& activity,
                       const sluice_next* next) {
  Area* area = this_area();
  const int access = activity.flags & O_ACCMODE;
  if (area == nullptr || area->pending == 0 || area->over != 0 || activity.target == nullptr ||
      this_process().started == 0 || (activity.flags & O_CREAT) == 0 || (activity.flags & unkept) != 0 ||
      (access != O_WRONLY && access != O_RDWR) || !is_plain(activity.target) ||
      this_file_limit() < static_cast<std::uint64_t>(settings.largest)) {
    return next->act(next, &activity);
  }
  bool exists = false;
  const int saved = errno;
  *file_state = make_pending(*area, settings, activity, exists);
  errno = saved;
  // A link of a placed file stands for what may not be there yet.
  if (*file_state == nullptr && exists && (activity.flags & O_EXCL) != 0 &&
      !is_placed_link(*area, activity.path)) {
    return fail(activity, EEXIST);
  }
  return *file_state != nullptr ? activity.result : next->act(next, &activity);
}

// A call on a file that is pending, with its lock.
struct Call {
  Area& area;
  Open& open;
  Pending& file;
  sluice_activity& activity;
  const sluice_next* next;
  bool nested = false;  // in a signal's handler that interrupted another one on the same file

  [[nodiscard]] bool here() const { return activity.offset == SLUICE_AT_POSITION; }
  [[nodiscard]] std::int64_t at() const { return here() ? open.position : activity.offset; }
  void advance(std::int64_t bytes) const { open.position += here() ? bytes : 0; }
  [[nodiscard]] std::int64_t pass() const { return next->act(next, &activity); }
  // Not in a child that was forked while another thread opened the file.
  [[nodiscard]] bool is_owner() const { return file.process == this_process().id; }
};

// The kernel's file takes the place of the stand-in. 0, or errno.
int take_over(const Call& call, int fd) {
  syscall(SYS_lseek, fd, call.open.position, SEEK_SET);
  const int standin = call.file.descriptor;
  const long flags = syscall(SYS_fcntl, standin, F_GETFD);
  const long moved = syscall(SYS_dup3, fd, standin, (flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
  const int number = moved < 0 ? errno : 0;
  syscall(SYS_close, fd);
  if (number != 0) {
    return number;
  }
  call.open.again.store(call.nested && call.open.busy.load() && call.open.position == call.open.before);
  call.open.file.store(nullptr);
  if (call.is_owner() && !call.nested) {
    end_pending(call.area, call.file);
  } else {
    struct stat found {};
    syscall(SYS_fstat, standin, &found);
    call.file.own_device = found.st_dev;
    call.file.own_inode = found.st_ino;
    call.file.state.store(Pending::lent);  // its process finds it at its path; who was interrupted ends it
  }
  return 0;
}

// Makes it a file of the kernel's. 0, or errno, and then it is as before. A handler that came before this has
// done it already; none comes in between.
int become_real(const Call& call) {
  const Unsignalled whole;
  Pending& file = call.file;
  if (!call.nested && call.open.file.load() == nullptr) {
    call.open.again.store(false);
    return 0;
  }
  if (file.state == Pending::lent) {
    const int fd = fetch_lent(call.area, file);
    return fd < 0 ? errno : take_over(call, fd);
  }
  const int folder = open_folder(file);
  if (folder < 0) {
    return errno;
  }
  const PutDown put = put_down(call.area, file, folder);
  syscall(SYS_close, folder);
  if (put.error != 0) {
    return put.error;
  }
  if (put.beside) {
    say_beside(file.path(), put.name.data());
  }
  if (file.flocked != 0) {
    syscall(SYS_flock, put.fd, file.flocked | LOCK_NB);
  }
  return take_over(call, put.fd);
}

// The same, and what was asked is for the kernel.
std::int64_t pass_real(const Call& call) {
  const int number = become_real(call);
  return number != 0 ? fail(call.activity, number) : call.pass();
}

std::int64_t write_pending(const Call& call) {
  sluice_activity& activity = call.activity;
  const std::int64_t at = call.at();
  const std::uint64_t length = activity.length;
  if (length > static_cast<std::uint64_t>(call.open.largest) || at > call.open.largest ||
      at + static_cast<std::int64_t>(length) > call.open.largest || activity.data == nullptr ||
      !is_memory(activity.data, length)) {
    return pass_real(call);
  }
  Pending& file = call.file;
  const auto begin = static_cast<std::uint64_t>(at);
  const std::uint64_t end = begin + length;
  if (length == 0) {
    return done(activity, 0);
  }
  if (!make_room(call.area, file, end)) {
    return pass_real(call);
  }
  auto* bytes = call.area.at<std::byte>(file.data);
  const std::uint64_t before = file.length.load(relaxed);
  if (begin > before) {
    std::memset(bytes + before, 0, begin - before);
  }
  std::memcpy(bytes + begin, activity.data, length);
  file.changed.store(now(), relaxed);
  if (end > before) {
    file.length.store(end, std::memory_order_release);
  }
  call.advance(static_cast<std::int64_t>(length));
  return done(activity, static_cast<std::int64_t>(length));
}

std::int64_t read_pending(const Call& call) {
  sluice_activity& activity = call.activity;
  if ((call.file.flags & O_ACCMODE) != O_RDWR) {
    return fail(activity, EBADF);
  }
  if (activity.data == nullptr || !is_memory(activity.data, activity.length)) {
    return pass_real(call);
  }
  const auto at = static_cast<std::uint64_t>(call.at());
  const std::uint64_t length = call.file.length.load(relaxed);
  const std::uint64_t got = at >= length ? 0 : std::min(activity.length, length - at);
  if (got > 0) {
    std::memcpy(activity.data, call.area.at<std::byte>(call.file.data) + at, got);
  }
  call.advance(static_cast<std::int64_t>(got));
  return done(activity, static_cast<std::int64_t>(got));
}

std::int64_t seek_pending(const Call& call) {
  sluice_activity& activity = call.activity;
  const std::int64_t from = activity.flags == SEEK_SET   ? 0
                            : activity.flags == SEEK_CUR ? call.open.position
                            : activity.flags == SEEK_END ? static_cast<std::int64_t>(call.file.length.load())
                                                         : -1;
  std::int64_t to = 0;
  if (from < 0) {
    return pass_real(call);
  }
  if (__builtin_add_overflow(from, activity.offset, &to) || to < 0) {
    return fail(activity, EINVAL);
  }
  // How far a file can reach only its file system knows.
  if (to > call.open.largest) {
    return pass_real(call);
  }
  call.open.position = to;
  return done(activity, to);
}

std::int64_t truncate_pending(const Call& call) {
  Pending& file = call.file;
  const std::uint64_t length = call.activity.length;
  const std::uint64_t before = file.length.load(relaxed);
  if (length > static_cast<std::uint64_t>(call.open.largest) || !make_room(call.area, file, length)) {
    return pass_real(call);
  }
  if (length > before) {
    std::memset(call.area.at<std::byte>(file.data) + before, 0, length - before);
  }
  file.changed.store(now(), relaxed);
  file.length.store(length, std::memory_order_release);
  return done(call.activity, 0);
}

std::int64_t settle_pending(const Call& call) {
  sluice_activity& activity = call.activity;
  const int flags = activity.flags;
  const bool lent = call.file.state == Pending::lent || !call.is_owner() || call.nested;
  // Nobody else has it: whoever wants to makes it a file of the kernel's, which gets the lock.
  if (!lent && flags == SLUICE_SETTLE_LOCK && activity.length != 0) {
    const auto operation = static_cast<int>(activity.length) & ~LOCK_NB;
    if (operation == LOCK_SH || operation == LOCK_EX || operation == LOCK_UN) {
      call.file.flocked = operation == LOCK_UN ? 0 : static_cast<std::uint32_t>(operation);
      return done(activity, 1);
    }
  }
  const bool tells = flags == SLUICE_SETTLE_KIND || (flags == SLUICE_SETTLE_STAT && call.file.invents);
  if (!lent && tells && is_memory(activity.data, sizeof(struct stat))) {
    describe(call.area, call.file, *static_cast<struct stat*>(activity.data));
    return done(activity, 1);
  }
  // Whoever lets go of it closes it, or ends: it is in the run's memory, whatever comes.
  if ((flags & SLUICE_SETTLE_LEAVE) != 0 && (flags & SLUICE_SETTLE_SHARE) == 0) {
    return done(activity, 0);
  }
  const int number = become_real(call);
  if (number != 0 && flags == SLUICE_SETTLE_STAT && is_memory(activity.data, sizeof(struct stat))) {
    describe(call.area, call.file, *static_cast<struct stat*>(activity.data));
    return done(activity, 1);
  }
  return number != 0 ? fail(activity, number) : done(activity, 0);
}

void close_pending(const Call& call) {
  call.open.file.store(nullptr);
  if (!call.is_owner()) {
    return;
  }
  if (call.file.state == Pending::lent) {
    // The keeper has it open, with its lock: as soon as this is closed, nobody has.
    const int fd = fetch_lent(call.area, call.file);
    if (fd >= 0) {
      syscall(SYS_close, fd);
    }
    end_pending(call.area, call.file);
  } else {
    call.file.state.store(Pending::closed, std::memory_order_release);
  }
}

std::int64_t act_pending(const Call& call) {
  // What was interrupted must not be changed: the kernel does this one, and that one afterwards.
  if (call.nested && call.activity.operation != SLUICE_SETTLE) {
    const int number = become_real(call);
    return number != 0                               ? fail(call.activity, number)
           : call.activity.operation == SLUICE_CLOSE ? 0
                                                     : call.pass();
  }
  if (call.activity.operation == SLUICE_CLOSE) {
    close_pending(call);
    return 0;
  }
  if ((call.file.state == Pending::lent || !call.is_owner()) && call.activity.operation != SLUICE_SETTLE) {
    return pass_real(call);
  }
  switch (call.activity.operation) {
    case SLUICE_WRITE:
      return write_pending(call);
    case SLUICE_READ:
      return read_pending(call);
    case SLUICE_SEEK:
      return seek_pending(call);
    case SLUICE_TRUNCATE:
      return truncate_pending(call);
    case SLUICE_SETTLE:
      return settle_pending(call);
    default:
      return pass_real(call);
  }
}

std::int64_t act(void* state, void** file_state, sluice_activity* activity, const sluice_next* next) {
  if (activity->operation == SLUICE_OPEN) {
    return open_file(*static_cast<const Settings*>(state), file_state, *activity, next);
  }
  auto* open = static_cast<Open*>(*file_state);
  if (open == nullptr) {
    return next->act(next, activity);
  }
  const bool closes = activity->operation == SLUICE_CLOSE;
  if (open->file.load(std::memory_order_acquire) != nullptr) {
    if (open->process != this_process().id) {  // whoever had the lock is not in this process
      open->process = this_process().id;
      open->lock.store(0);
    }
    const bool nested = hold_lock(open->lock) == Locked::already;
    Pending* file = open->file.load(relaxed);
    std::int64_t result = 0;
    bool again = false;
    if (file != nullptr) {
      const bool locked = hold_lock(file->lock) == Locked::yes;
      if (!nested) {
        open->again.store(false, relaxed);
        open->before = open->position;
        open->busy.store(true, relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
      }
      result = act_pending({*this_area(), *open, *file, *activity, next, nested});
      if (!nested) {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        open->busy.store(false, relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        again = open->again.load(relaxed);
        // A handler left it to us; what a child took is its parent's still.
        if (open->file.load(relaxed) == nullptr && file->state == Pending::lent &&
            file->process == this_process().id) {
          end_pending(*this_area(), *file);
        }
      }
      if (locked) {
        let_go(file->lock);
      }
    }
    if (!nested) {
      let_go(open->lock);
    }
    if (again && !closes) {
      return next->act(next, activity);
    }
    if (file != nullptr && !closes) {
      return result;
    }
  }
  if (closes) {
    *file_state = nullptr;
    opens.give_back(open);
  }
  return next->act(next, activity);
}

}  // namespace

extern const sluice_stage stage_smallfiles = {
    .size = sizeof(sluice_stage),
    .version = SLUICE_STAGE_VERSION,
    .name = "smallfiles",
    .summary = "keeps new small files in memory beyond their close, and puts them down together",
    .scope = "job",
    .interference = "calls",
    .state = "buffers",
    .semantics = "relaxed",
    .parameters =
        "level= job: others see the files when the run ends; it has to be said\nlargest=256K files that "
        "become "
        "larger are made at once\nidentity=true invented: fstat() gives a number of its own, and does not "
        "make it a "
        "file",
    .operations = SLUICE_ALL | SLUICE_BIT(SLUICE_SETTLE),
    .aside = 0,
    .start = start,
    .act = act,
    .wants = nullptr,
};

}  // namespace sluice

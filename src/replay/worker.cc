#include "replay/worker.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>

#include "base/clock.h"
#include "replay/contents.h"
#include "replay/futex.h"

namespace sluice {
namespace {

constexpr long look = 100'000'000;           // nanoseconds, after which whoever waits looks around
constexpr std::int64_t carried = 2'000'000;  // how late an operation may be for the next to make up for it
constexpr std::int64_t spun = 80'000;        // a sleep ends later than it should
constexpr std::int64_t worth_a_sleep = 5'000;
constexpr int spins = 200;                     // before a sleep for another strand
constexpr std::uint32_t looks_between = 4096;  // operations between two looks at whether the feeder lives
constexpr std::size_t small_bytes = 65536;     // what is written of these is in the processor's cache

Script* script = nullptr;
int processors = 1;
std::atomic<int>* slots = nullptr;  // descriptors, each one more than it is
char* contents = nullptr;           // for writes

int descriptor(std::uint32_t slot) {
  return slots[slot].load(std::memory_order_relaxed) - 1;
}

std::int64_t now() {
  return nanoseconds_of(CLOCK_MONOTONIC);
}

[[noreturn]] void leave() {
  _exit(1);
}

[[noreturn]] void stop(Script::Stop why, int number) {
  std::uint32_t going = Script::going;
  if (script->stop.compare_exchange_strong(going, why)) {
    script->stop_number = number;
  }
  leave();
}

// Processes that we started and that are gone. Never for those that have not ended.
void reap(int flags) {
  int status = 0;
  while (waitpid(-1, &status, flags) > 0) {
    if (WIFSIGNALED(status)) {
      stop(Script::died, WTERMSIG(status));
    }
    if (WEXITSTATUS(status) != 0) {
      leave();
    }
  }
}

void look_around() {
  if (script->stop != Script::going || (kill(script->feeder, 0) != 0 && errno == ESRCH)) {
    leave();
  }
  reap(WNOHANG);
}

// A sleep ends later than asked for; the last stretch is spun, as long as there are processors for all who do
// that.
void pause_until(std::int64_t time) {
  std::int64_t left = time - now();
  while (left > spun) {
    const std::int64_t nap = std::min<std::int64_t>(left - spun, look);
    const timespec most{.tv_sec = 0, .tv_nsec = nap};
    nanosleep(&most, nullptr);
    if (nap == look) {
      look_around();
    }
    left = time - now();
  }
  const bool has_processor = script->spinning.fetch_add(1, std::memory_order_relaxed) < processors;
  if (!has_processor && left > worth_a_sleep) {
    const timespec rest{.tv_sec = 0, .tv_nsec = left};
    nanosleep(&rest, nullptr);
  }
  while (now() < time) {
  }
  script->spinning.fetch_sub(1, std::memory_order_relaxed);
}

class StrandRunner {
 public:
  StrandRunner(std::uint32_t number, std::int64_t time) : number_(number), time_(time) {}

  void run() {
    prctl(PR_SET_TIMERSLACK, 1);
    for (Step* step = next(); step->kind != Step::end; step = next()) {
      take(*step);
    }
    give_back();
    count();
    if (buffer_ != nullptr) {
      munmap(buffer_, buffer_bytes_);
    }
    done();
  }

 private:
  // The next step; waits for it.
  Step* next() {
    StrandState& own = script->strand(number_);
    if (chunk_ == 0) {
      for (int tries = 0; (chunk_ = own.first.load(std::memory_order_acquire)) == 0; ++tries) {
        const timespec nap{.tv_sec = 0, .tv_nsec = 1'000'000};
        nanosleep(&nap, nullptr);
        if (tries % 100 == 99) {
          look_around();
        }
      }
    }
    for (;;) {
      StepChunk& chunk = script->chunk(chunk_);
      if (at_ < available_ || at_ < (available_ = chunk.written.load(std::memory_order_acquire))) {
        Step* out = &chunk.steps[at_++];
        if (out->kind != Step::pad && at_ <= StepChunk::room) {
          return out;
        }
      } else if (at_ < StepChunk::room) {
        chunk.starving = 1;
        futex_sleep(chunk.written, available_, look);
        look_around();
        continue;
      }
      std::uint32_t following = 0;
      while ((following = chunk.next.load(std::memory_order_acquire)) == 0) {
        futex_sleep(chunk.next, 0, look);
        look_around();
      }
      give_back();
      chunk_ = following;
      at_ = available_ = 0;
      count();
      look_around();
    }
  }

  void give_back() const {
    StepChunk& chunk = script->chunk(chunk_);
    std::uint32_t first = script->free.load();
    do {
      chunk.next.store(first, std::memory_order_relaxed);
    } while (!script->free.compare_exchange_weak(first, chunk_));
    if (script->hungry.exchange(0) != 0) {
      futex_wake(script->hungry);
    }
  }

  void take(const Step& step) {
    switch (step.kind) {
      case Step::wait:
        wait_for(step);
        return;
      case Step::spawn_process:
        spawn_process(step.other);
        return;
      case Step::spawn_thread:
        spawn_thread(step.other);
        return;
      case Step::reopen:
        reopen(step);
        done();
        return;
      default:
        act(step);
    }
  }

  void wait_for(const Step& step) {
    StrandState& other = script->strand(step.other);
    const auto wanted = static_cast<std::uint32_t>(step.result);
    std::uint32_t reached = other.done.load(std::memory_order_acquire);
    for (int i = 0; reached < wanted && i < spins; ++i) {
      reached = other.done.load(std::memory_order_acquire);
    }
    while (reached < wanted) {
      const std::uint32_t woken = other.woken.load();
      std::uint32_t before = other.wake_at.load();
      while (before > wanted && !other.wake_at.compare_exchange_weak(before, wanted)) {
      }
      reached = other.done.load();
      if (reached < wanted) {
        futex_sleep(other.woken, woken, look);
        look_around();
        reached = other.done.load();
      }
    }
    if (step.latest != 0) {
      // Where it has done more since, when that one ended is not known.
      const std::int64_t ended = std::max(time_, other.ended.load(std::memory_order_relaxed));
      time_ = reached == wanted ? ended : std::min(ended, time_ + scaled(step.think));
    }
  }

  [[nodiscard]] static std::int64_t scaled(std::int64_t nanoseconds) {
    return script->factor > 0 ? static_cast<std::int64_t>(static_cast<double>(nanoseconds) / script->factor)
                              : 0;
  }

  void spawn_process(std::uint32_t strand) {
    reap(WNOHANG);
    count();
    const pid_t child = fork();
    if (child < 0) {
      stop(Script::no_process, errno);
    }
    if (child == 0) {
      StrandRunner(strand, time_).run();
      reap(0);
      _exit(0);
    }
  }

  struct ThreadStart {
    std::uint32_t strand;
    std::int64_t time;
  };

  void spawn_thread(std::uint32_t strand) const {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, std::size_t{256} * 1024);
    auto* start = static_cast<ThreadStart*>(malloc(sizeof(ThreadStart)));
    *start = {.strand = strand, .time = time_};
    pthread_t thread{};
    const int failed = pthread_create(&thread, &attributes, run_thread, start);
    pthread_attr_destroy(&attributes);
    if (failed != 0) {
      stop(Script::no_thread, failed);
    }
  }

  static void* run_thread(void* argument) {
    const ThreadStart start = *static_cast<ThreadStart*>(argument);
    free(argument);
    StrandRunner(start.strand, start.time).run();
    return nullptr;
  }

  [[nodiscard]] static const char* path_of(const Step& step) {
    return reinterpret_cast<const char*>(&step + 1);
  }

  // Behind the first.
  [[nodiscard]] static const char* other_path_of(const Step& step) {
    return path_of(step) + strlen(path_of(step)) + 1;
  }

  static std::int64_t sync_folder(const char* path, bool data_alone) {
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
      return -1;
    }
    const int out = data_alone ? fdatasync(fd) : fsync(fd);
    const int saved = errno;
    close(fd);
    errno = saved;
    return out;
  }

  void skip_text(const Step& step) {
    at_ += static_cast<std::uint32_t>((step.text + sizeof(Step) - 1) / sizeof(Step));
  }

  void reopen(const Step& step) {
    time_ += scaled(step.think);  // the program did nothing then, and it took that long to come to it
    const int before = step.other == no_slot ? -1 : descriptor(step.other);
    const int fd = before >= 0 ? fcntl(before, F_DUPFD_CLOEXEC, 3) : open(path_of(step), step.flags, 0600);
    if (fd < 0) {
      check_limits(errno);
    }
    slots[step.slot] = fd + 1;
    skip_text(step);
  }

  // Errors that the replay has and the program had not.
  static void check_limits(int number) {
    if (number == EMFILE || number == ENFILE) {
      stop(Script::no_descriptor, number);
    }
    if ((number == ENOSPC || number == EDQUOT) && script->staged == 0) {
      stop(Script::no_room, number);
    }
  }

  char* buffer(std::size_t bytes) {
    if (bytes > buffer_bytes_) {
      if (buffer_ != nullptr) {
        munmap(buffer_, buffer_bytes_);
      }
      buffer_bytes_ = std::max<std::size_t>((bytes + 4095) / 4096 * 4096, small_bytes);
      void* got = mmap(nullptr, buffer_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (got == MAP_FAILED) {
        stop(Script::no_thread, ENOMEM);
      }
      buffer_ = static_cast<char*>(got);
    }
    return buffer_;
  }

  // All of a request in pieces of memory that are one and the same.
  static std::span<iovec> pieces(std::array<iovec, 1024>& all, char* memory, std::size_t bytes) {
    std::size_t count = 0;
    for (; bytes > 0 && count < all.size(); ++count) {
      all[count] = {.iov_base = memory, .iov_len = std::min(bytes, contents_bytes)};
      bytes -= all[count].iov_len;
    }
    return {all.data(), count};
  }

  ssize_t read_some(int fd, const Step& step) {
    const bool own = step.offset == TraceEvent::at_position;
    if (step.length <= contents_bytes) {
      char* to = buffer(step.length);
      return own ? read(fd, to, step.length) : pread(fd, to, step.length, step.offset);
    }
    std::array<iovec, 1024> all;
    const auto parts = pieces(all, buffer(contents_bytes), step.length);
    return own ? readv(fd, parts.data(), static_cast<int>(parts.size()))
               : preadv(fd, parts.data(), static_cast<int>(parts.size()), step.offset);
  }

  ssize_t write_some(int fd, const Step& step) {
    const bool own = step.offset == TraceEvent::at_position;
    if (step.length <= contents_bytes) {
      // Other bytes each time, of few enough that they stay in the cache where a program's own would.
      const std::size_t range = step.length <= small_bytes ? 4 * small_bytes : contents_bytes;
      const std::size_t most = (range - std::min<std::size_t>(range, step.length)) / 4096 + 1;
      const char* from = contents + (turn_++ % most) * 4096;
      return own ? write(fd, from, step.length) : pwrite(fd, from, step.length, step.offset);
    }
    std::array<iovec, 1024> all;
    const auto parts = pieces(all, contents, step.length);
    return own ? writev(fd, parts.data(), static_cast<int>(parts.size()))
               : pwritev(fd, parts.data(), static_cast<int>(parts.size()), step.offset);
  }

  // The call itself; -1 and errno where it fails.
  std::int64_t call(const Step& step, int fd) {
    switch (step.kind) {
      case TraceEvent::open:
        return open(path_of(step), step.flags, step.other);
      case TraceEvent::close:
        return close(fd);
      case TraceEvent::read:
        return read_some(fd, step);
      case TraceEvent::write:
        return write_some(fd, step);
      case TraceEvent::seek:
        return lseek(fd, step.offset, step.flags);
      case TraceEvent::sync:
        return step.flags == 1 ? fdatasync(fd) : fsync(fd);
      case TraceEvent::truncate:
        return ftruncate(fd, static_cast<off_t>(step.length));
      case TraceEvent::allocate:
        return fallocate(fd, step.flags, step.offset, static_cast<off_t>(step.length));
      case TraceEvent::remove:
        return unlink(path_of(step));
      case TraceEvent::rename:
        return renameat2(AT_FDCWD, path_of(step), AT_FDCWD, other_path_of(step),
                         static_cast<unsigned>(step.flags));
      case TraceEvent::link:
        return link(path_of(step), other_path_of(step));
      case TraceEvent::sync_folder:
        return sync_folder(path_of(step), step.flags == 1);
      case TraceEvent::advise: {
        const int failed = posix_fadvise(fd, step.offset, static_cast<off_t>(step.length), step.flags);
        errno = failed;
        return failed == 0 ? 0 : -1;
      }
      default:
        return 0;
    }
  }

  void act(const Step& step) {
    const int fd = step.slot == no_slot || step.kind >= Step::spawn_thread ? -1 : descriptor(step.slot);
    std::int64_t target = time_;
    if (script->factor > 0) {
      target += scaled(step.think);
      if (target > last_) {
        pause_until(target);
      }
    }
    if (step.kind == Step::nothing) {
      time_ = std::max(target, now() - carried);
      done();
      return;
    }
    if (step.kind == TraceEvent::close && step.slot != no_slot) {
      slots[step.slot].store(0, std::memory_order_relaxed);
    }
    const std::int64_t begin = now();
    if (script->began.load(std::memory_order_relaxed) == 0) [[unlikely]] {
      // That processes had to be started until then is nothing that anybody has to make up for.
      std::int64_t none = 0;
      script->began.compare_exchange_strong(none, begin);
      target = begin;
    }
    std::int64_t result = call(step, fd);
    last_ = now();
    if (result < 0) {
      result = -errno;
    }
    if (step.kind == TraceEvent::open) {
      if (result >= 0 && step.slot != no_slot) {
        slots[step.slot] = static_cast<int>(result) + 1;
      } else if (result >= 0) {
        close(static_cast<int>(result));  // which the program could not open
      }
    }
    late_ += begin > target && script->factor > 0 ? begin - target : 0;
    // What we are late by, the next operation need not be.
    time_ = std::max(target, begin - carried) + (last_ - begin);
    Local& local = counts_[step.kind];
    ++local.calls;
    local.nanoseconds += static_cast<std::uint64_t>(last_ - begin);
    const bool same = step.kind == TraceEvent::open ? (result < 0 ? result == step.result : step.result >= 0)
                                                    : result == step.result;
    if (!same) [[unlikely]] {
      ++local.differed;
      differ(step, result);
    }
    if (step.text != 0) {
      skip_text(step);
    }
    done();
  }

  void differ(const Step& step, std::int64_t result) const {
    if (step.result >= 0 && result < 0) {
      check_limits(static_cast<int>(-result));
    }
    for (Difference& one : script->differences) {
      std::uint32_t unused = 0;
      if (one.is_there.compare_exchange_strong(unused, 1)) {
        one.strand = number_;
        one.operation = step.kind;
        one.expected = step.result;
        one.result = result;
        if (step.text != 0) {
          strncpy(one.name.data(), path_of(step), one.name.size() - 1);
        }
        return;
      }
    }
  }

  void done() {
    StrandState& own = script->strand(number_);
    own.ended.store(time_, std::memory_order_relaxed);
    const std::uint32_t reached = own.done.fetch_add(1) + 1;
    if (own.wake_at.load() <= reached) [[unlikely]] {
      own.wake_at = StrandState::nobody;  // who waits for more will say so again
      own.woken.fetch_add(1);
      futex_wake(own.woken);
    }
    if (++since_look_ == looks_between) [[unlikely]] {
      since_look_ = 0;
      look_around();
    }
  }

  // Adds up what was done.
  void count() {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      Local& local = counts_[i];
      if (local.calls != 0) {
        OperationCount& total = script->counts[i];
        total.calls += local.calls;
        total.differed += local.differed;
        total.nanoseconds += local.nanoseconds;
        all += local.calls;
        local = {};
      }
    }
    script->done += all;
    script->late += late_;
    late_ = 0;
    std::int64_t ended = script->ended.load();
    while (ended < last_ && !script->ended.compare_exchange_weak(ended, last_)) {
    }
  }

  struct Local {
    std::uint64_t calls = 0;
    std::uint64_t differed = 0;
    std::uint64_t nanoseconds = 0;
  };
  std::uint32_t number_;
  std::int64_t time_;      // when what was done last should have ended
  std::int64_t last_ = 0;  // when it did
  std::uint32_t chunk_ = 0;
  std::uint32_t at_ = 0;
  std::uint32_t available_ = 0;
  std::uint32_t since_look_ = 0;
  std::size_t turn_ = 0;
  std::int64_t late_ = 0;
  char* buffer_ = nullptr;
  std::size_t buffer_bytes_ = 0;
  std::array<Local, Script::most_operations> counts_ = {};
};

}  // namespace

int run_strands(Script& shared) {
  script = &shared;
  signal(SIGINT, SIG_IGN);  // a terminal sends it to the feeder too, which tells us
  signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  cpu_set_t set;
  processors = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  void* table = mmap(nullptr, most_slots * sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void* data = mmap(nullptr, contents_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (table == MAP_FAILED || data == MAP_FAILED) {
    stop(Script::no_process, ENOMEM);
  }
  slots = static_cast<std::atomic<int>*>(table);
  contents = static_cast<char*>(data);
  make_contents(contents, contents_bytes);
  shared.ready = 1;
  futex_wake(shared.ready);
  while (shared.go == 0) {
    futex_sleep(shared.go, 0, look);
    look_around();
  }
  StrandRunner(0, now()).run();
  reap(0);
  return 0;
}

}  // namespace sluice

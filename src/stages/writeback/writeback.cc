// Small writes are kept back until a block of them is together: one write instead of thousands. What is kept
// back is in memory that outlives the program, and goes into the file when anybody else would see that it is
// missing (pipeline/buffers.h, docs/promises.md).
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "pipeline/answer.h"
#include "pipeline/parameters.h"
#include "pipeline/settings.h"
#include "stages/writeback/keep.h"

namespace sluice::writeback {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr std::int64_t far = std::int64_t{1} << 42;  // a seek there is left to the kernel
constexpr int unkept = O_ASYNC | O_APPEND | O_SYNC | O_DSYNC | O_DIRECT | O_PATH;

constinit SettingsRoom<Settings, 1> all_settings;

int start(const char* text, void** state, char* error, std::size_t error_size) {
  Parameters parameters(text, error, error_size);
  Settings& out = all_settings.take();
  while (parameters.next()) {
    if (parameters.name == "level") {
      if (parameters.value != "strict" && parameters.value != "close") {
        return parameters.refuse("strict or close");
      }
      out.level = parameters.value == "strict" ? Level::strict : Level::close;
      continue;
    }
    std::int64_t* number = parameters.name == "block"   ? &out.block
                           : parameters.name == "large" ? &out.large
                           : parameters.name == "after" ? &out.after
                                                        : nullptr;
    if (number == nullptr) {
      return parameters.refuse("writeback has level, block, large and after");
    }
    if (!parameters.number(*number)) {
      return parameters.refuse("not a number");
    }
  }
  if (!parameters.good()) {
    return -1;
  }
  constexpr auto most = static_cast<std::int64_t>(block_bytes);
  const bool blocks = out.block == 0 || (out.block >= 512 && out.block <= most);
  if (!blocks || out.large > most) {
    parameters.name = blocks ? "large" : "block";
    parameters.value = "";
    return parameters.refuse("block is 512 to 1M, large at most 1M");
  }
  *state = &out;
  begin_process();
  return 0;
}

// For what only a handler of this thread can change meanwhile: without a lock on the bus.
bool replace(std::atomic<std::int64_t>& value, std::int64_t expected, std::int64_t wanted) {
#ifdef __x86_64__
  bool done = false;
  asm volatile("cmpxchgq %[wanted], %[value]"
               : "=@ccz"(done), [value] "+m"(value), "+a"(expected)
               : [wanted] "r"(wanted)
               : "memory");
  return done;
#else
  return value.compare_exchange_strong(expected, wanted, relaxed);
#endif
}

// Moves the position before the bytes are there; where somebody jumps out of the call it is moved back.
[[gnu::always_inline]] inline bool take_place(HeldBuffer& own, Buffer& buffer, std::int64_t at,
                                              std::int64_t taken) {
  own.at = at;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  own.taken = taken;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return replace(buffer.position, at, taken);
}

// A buffer and its generation in the space of a pointer; null = nothing is ever kept back of this file.
struct Kept {
  Buffer* buffer = nullptr;
  std::uint32_t generation = 0;
};

void* pack(Area& area, const Buffer& buffer) {
  const auto index = static_cast<std::uintptr_t>(&buffer - area.all_buffers().data());
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(buffer.generation.load()) << 16 | index);
}

Kept unpack(Area& area, const void* state) {
  const auto bits = reinterpret_cast<std::uintptr_t>(state);
  return {.buffer = &area.all_buffers()[bits & 0xffff], .generation = static_cast<std::uint32_t>(bits >> 16)};
}

// One call on one file, with its lock.
struct Call {
  Area& area;
  Buffer& buffer;
  const Settings& settings;
  sluice_activity& activity;
  const sluice_next* next;
  HeldBuffer& own;

  [[nodiscard]] std::int64_t pass() const { return next->act(next, &activity); }
  [[nodiscard]] std::int64_t fail(int number) const { return sluice::fail(activity, number); }
  [[nodiscard]] std::int64_t done(std::int64_t result) const { return sluice::done(activity, result); }
  [[nodiscard]] bool here() const { return activity.offset == SLUICE_AT_POSITION; }
  [[nodiscard]] int flush() const { return writeback::flush(area, buffer, activity, next); }
  [[nodiscard]] int hand_position_back() const {
    return writeback::hand_position_back(buffer, activity, next);
  }
  // The file's position, which is ours from now on; -1 where it has none.
  [[nodiscard]] std::int64_t position() const {
    std::int64_t known = buffer.position.load(relaxed);
    while (known < 0) {
      sluice_activity ask = activity;
      ask.operation = SLUICE_SEEK;
      ask.offset = 0;
      ask.flags = SEEK_CUR;
      const std::int64_t found = next->act(next, &ask);
      if (found < 0 || replace(buffer.position, known, found)) {
        return found;
      }
      known = buffer.position.load(relaxed);  // a handler has moved the kernel's meanwhile
    }
    return known;
  }
  // Takes the place from there to the end of the call: a handler that comes after it goes on behind. False
  // where one came before.
  [[nodiscard]] bool take_place(std::int64_t at) const {
    return writeback::take_place(own, buffer, at, at + static_cast<std::int64_t>(activity.length));
  }
  // Passes it on where the file's position is ours: with an offset, and moves it.
  [[nodiscard]] std::int64_t pass_at_position() const {
    std::int64_t at = 0;
    do {
      at = buffer.position.load(relaxed);
      if (!here() || at < 0) {
        return pass();
      }
    } while (!take_place(at));
    activity.offset = at;
    const std::int64_t result = pass();
    activity.offset = SLUICE_AT_POSITION;
    moved_to(at, result);
    return result;
  }
  // So many bytes from there are done. Where the position that was taken is not reached by them it is moved
  // back, unless somebody has gone on from it.
  void moved_to(std::int64_t at, std::int64_t result) const {
    own.at = at + std::max<std::int64_t>(result, 0);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    replace(buffer.position, at + static_cast<std::int64_t>(activity.length), own.at);
  }
};

// Puts bytes where they belong, as far as the extent reaches; how many.
std::uint64_t keep(const Call& call, std::int64_t at, const std::byte* data, std::uint64_t length) {
  Buffer& buffer = call.buffer;
  const std::uint64_t offset = static_cast<std::uint64_t>(at) - buffer.base;
  const std::uint64_t part = std::min(length, buffer.end - static_cast<std::uint64_t>(at));
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memcpy(call.area.bytes_of(buffer) + offset, data, part);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (offset + part > buffer.length.load(relaxed)) {
    buffer.length.store(offset + part, std::memory_order_release);
  }
  return part;
}

// Whether bytes at this offset go on where those that are kept back are, or end.
bool fits(const Buffer& buffer, std::int64_t at) {
  const auto offset = static_cast<std::uint64_t>(at);
  const std::uint64_t length = buffer.length.load(relaxed);
  return length > 0 && offset >= buffer.base && offset <= buffer.base + length && offset < buffer.end;
}

// Where this write goes; its place is taken before anything else is done.
std::int64_t claim(const Call& call) {
  if (!call.here()) {
    return call.activity.offset;
  }
  std::int64_t at = 0;
  do {
    at = call.position();
  } while (at >= 0 && !call.take_place(at));
  return at;
}

// Fewer bytes than it wanted were taken: the position is where they end.
std::int64_t end_write(const Call& call, std::int64_t at, std::int64_t result) {
  if (call.here()) {
    call.moved_to(at, result);
  }
  return result;
}

// All but the first so many bytes, which are kept back already.
std::int64_t write_through(const Call& call, std::int64_t at, std::uint64_t kept = 0) {
  const auto first = static_cast<std::int64_t>(kept);
  sluice_activity rest = call.activity;
  rest.offset = at + first;
  rest.data = static_cast<std::byte*>(rest.data) + kept;
  rest.length -= kept;
  const std::int64_t result = call.next->act(call.next, &rest);
  call.activity.error = rest.error;
  call.activity.result = result < 0 && kept > 0 ? first : result < 0 ? -1 : first + result;
  return end_write(call, at, call.activity.result);
}

// All of it or nothing, where a handler would jump out of it: it comes afterwards.
std::int64_t write_slowly(const Call& call, std::int64_t at) {
  const Unsignalled whole;
  Buffer& buffer = call.buffer;
  const auto* data = static_cast<const std::byte*>(call.activity.data);
  const std::uint64_t length = call.activity.length;
  std::uint64_t done = 0;
  while (done < length) {
    const std::int64_t offset = at + static_cast<std::int64_t>(done);
    if (!fits(buffer, offset)) {
      if (const int error = call.flush(); error != 0) {
        return end_write(call, at, done > 0 ? call.done(static_cast<std::int64_t>(done)) : call.fail(error));
      }
      if (!begin_extent(call.area, buffer, call.activity.descriptor, static_cast<std::uint64_t>(offset))) {
        const std::int64_t result = write_through(call, at, done);
        [[maybe_unused]] const int later = call.hand_position_back();  // ours is as good
        return result;
      }
    }
    // A block that is full is written by whoever filled it, and an error is told at once. Then nothing of
    // this write stays but what is in the file; what would take the place of bytes that are acknowledged
    // waits until those are written.
    const std::uint64_t before = buffer.length.load(relaxed);
    const bool fills = buffer.end - static_cast<std::uint64_t>(offset) <= length - done;
    int error = 0;
    if (fills && static_cast<std::uint64_t>(offset) < buffer.base + before) {
      error = call.flush();
      if (error == 0) {
        continue;
      }
    } else {
      const std::uint64_t part = keep(call, offset, data + done, length - done);
      ++buffer.writes;
      const Written written =
          fills ? flush_some(call.area, buffer, call.activity, call.next) : Written{.error = 0, .bytes = 0};
      error = written.error;
      if (error == 0) {
        done += part;
        call.own.at = offset + static_cast<std::int64_t>(part);
        continue;
      }
      buffer.length.store(before, std::memory_order_release);
      done += written.bytes > before ? written.bytes - before : 0;  // as much as the kernel had room for
    }
    return end_write(call, at, done > 0 ? call.done(static_cast<std::int64_t>(done)) : call.fail(error));
  }
  return call.done(static_cast<std::int64_t>(length));
}

// What nearly all writes are: they go on where those that are kept back are, or end, and there is room. No
// more is looked at, built or called for them than it takes, which saves a third of their time.
[[gnu::always_inline]] inline bool write_quickly(Area& area, Buffer& buffer, std::uint32_t generation,
                                                 const Settings& settings, sluice_activity& activity) {
  const std::uint64_t length = activity.length;
  if (buffer.block.load(relaxed) == 0 || length == 0 ||
      length >= static_cast<std::uint64_t>(settings.large) || !is_memory(activity.data, length)) {
    return false;
  }
  const BufferHold hold(buffer);
  if (hold.locked == Locked::already) {
    return false;
  }
  const bool here = activity.offset == SLUICE_AT_POSITION;
  const std::int64_t at = here ? buffer.position.load(relaxed) : activity.offset;
  const std::uint64_t offset =
      static_cast<std::uint64_t>(at) - buffer.base;  // beyond all where it is before it
  const std::uint64_t kept = buffer.length.load(relaxed);
  const bool good = buffer.generation.load(relaxed) == generation && !buffer.retired.load(relaxed) &&
                    buffer.block.load(relaxed) != 0 && buffer.wait == 0 && at >= 0 && kept > 0 &&
                    offset <= kept && offset + length < buffer.end - buffer.base &&
                    (!here || take_place(hold.own, buffer, at, at + static_cast<std::int64_t>(length)));
  if (good) [[likely]] {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    std::memcpy(area.bytes_of(buffer) + offset, activity.data, length);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (offset + length > buffer.length.load(relaxed)) {
      buffer.length.store(offset + length, std::memory_order_release);
    }
    ++buffer.writes;
    activity.error = 0;
    activity.result = static_cast<std::int64_t>(length);
  }
  return good;
}

std::int64_t write_kept(const Call& call) {
  Buffer& buffer = call.buffer;
  const std::uint64_t length = call.activity.length;
  const bool waits = buffer.wait > 0;
  buffer.wait -= waits ? 1 : 0;
  if (waits && (!call.here() || buffer.position.load(relaxed) < 0)) {
    return call.pass();
  }
  const std::int64_t at = claim(call);
  if (at < 0) {
    return call.pass();
  }
  if (waits) {
    return write_through(call, at);
  }
  if (length >= static_cast<std::uint64_t>(call.settings.large) || length > buffer.align) {
    const int error = call.flush();
    return error != 0 ? end_write(call, at, call.fail(error)) : write_through(call, at);
  }
  return write_slowly(call, at);
}

// What could not be written, and what is around it in the file. REQUIRES: something is kept back.
std::int64_t read_around(const Call& call, std::int64_t at) {
  const Buffer& buffer = call.buffer;
  const auto begin = static_cast<std::uint64_t>(at);
  const std::uint64_t end = begin + call.activity.length;
  const std::uint64_t kept_end = buffer.base + buffer.length.load(relaxed);
  auto* data = static_cast<std::byte*>(call.activity.data);
  // So many bytes of the file, or -1.
  const auto of_file = [&](std::uint64_t from, std::uint64_t to) -> std::int64_t {
    std::uint64_t at_last = from;
    while (at_last < to) {
      sluice_activity one = call.activity;
      one.offset = static_cast<std::int64_t>(at_last);
      one.data = data + (at_last - begin);
      one.length = to - at_last;
      const std::int64_t got = call.next->act(call.next, &one);
      if (got < 0) {
        call.activity.error = one.error;
        return -1;
      }
      if (got == 0) {
        break;
      }
      at_last += static_cast<std::uint64_t>(got);
    }
    return static_cast<std::int64_t>(at_last - from);
  };
  std::uint64_t done = begin;
  if (done < buffer.base) {
    const std::uint64_t to = std::min(end, buffer.base);
    const std::int64_t got = of_file(done, to);
    if (got < 0) {
      return -1;
    }
    const std::uint64_t from = done + static_cast<std::uint64_t>(got);
    std::memset(data + (from - begin), 0, to - from);  // the file will reach as far
    done = to;
  }
  if (done < end && done < kept_end) {
    const std::uint64_t to = std::min(end, kept_end);
    std::memcpy(data + (done - begin), call.area.bytes_of(buffer) + (done - buffer.base), to - done);
    done = to;
  }
  if (done < end) {
    const std::int64_t got = of_file(done, end);
    if (got < 0 && done == begin) {
      return -1;
    }
    done += static_cast<std::uint64_t>(std::max<std::int64_t>(got, 0));
  }
  return static_cast<std::int64_t>(done - begin);
}

std::int64_t read_kept(const Call& call) {
  Buffer& buffer = call.buffer;
  const std::uint64_t kept = buffer.length.load(relaxed);
  const std::int64_t at = call.here() ? buffer.position.load(relaxed) : call.activity.offset;
  if (kept == 0 || !buffer.readable) {
    return call.pass_at_position();
  }
  const auto offset = static_cast<std::uint64_t>(at);
  if (at >= 0 && offset >= buffer.base && offset + call.activity.length <= buffer.base + kept) {
    if (call.here() && !call.take_place(at)) {
      return read_kept(call);
    }
    std::memcpy(call.activity.data, call.area.bytes_of(buffer) + (offset - buffer.base),
                call.activity.length);
    return call.done(static_cast<std::int64_t>(call.activity.length));
  }
  const bool below = at >= 0 && offset + call.activity.length <= buffer.base &&
                     buffer.base <= static_cast<std::uint64_t>(buffer.stamp.size);
  // An error is told by what can tell it; bytes that are acknowledged can be read all the same.
  if (!below && call.flush() != 0) {
    const std::int64_t from = call.here() ? call.position() : at;
    if (from < 0) {
      return call.pass();
    }
    if (call.here() && !call.take_place(from)) {
      return read_kept(call);
    }
    const std::int64_t result = read_around(call, from);
    if (call.here()) {
      call.moved_to(from, result);
    }
    return result < 0 ? call.fail(call.activity.error) : call.done(result);
  }
  return call.pass_at_position();
}

// The position is the kernel's.
std::int64_t seek_to(const Call& call, std::int64_t to) {
  sluice_activity move = call.activity;
  move.offset = to;
  move.flags = SEEK_SET;
  return call.next->act(call.next, &move) < 0 ? call.fail(move.error) : call.done(to);
}

std::int64_t seek_kept(const Call& call) {
  const int whence = call.activity.flags;
  const std::int64_t offset = call.activity.offset;
  const std::int64_t position = call.buffer.position.load(relaxed);
  if (position >= 0 && (whence == SEEK_SET || whence == SEEK_CUR) && offset > -far && offset < far) {
    const std::int64_t to = whence == SEEK_SET ? offset : position + offset;
    if (to < 0) {
      return call.fail(EINVAL);
    }
    return replace(call.buffer.position, position, to) ? call.done(to) : seek_kept(call);
  }
  const int unwritten = call.flush();
  struct stat found {};
  if (unwritten != 0 && whence == SEEK_END && syscall(SYS_fstat, call.activity.descriptor, &found) == 0) {
    const auto kept_end = static_cast<std::int64_t>(call.buffer.base + call.buffer.length.load(relaxed));
    std::int64_t to = 0;
    if (__builtin_add_overflow(std::max<std::int64_t>(found.st_size, kept_end), offset, &to) || to < 0) {
      return call.fail(EINVAL);
    }
    return position < 0                                  ? seek_to(call, to)
           : replace(call.buffer.position, position, to) ? call.done(to)
                                                         : seek_kept(call);
  }
  if (unwritten != 0 && whence != SEEK_SET && whence != SEEK_CUR) {
    return call.fail(unwritten);  // the kernel does not know where there is data
  }
  const int error = call.hand_position_back();
  return error != 0 ? call.fail(error) : call.pass();
}

std::int64_t settle_kept(const Call& call) {
  const int flags = call.activity.flags;
  if ((flags & SLUICE_SETTLE_LOCK) != 0 && call.buffer.leased) {  // nobody else has it open
    const int error = (flags & SLUICE_SETTLE_POSITION) != 0 ? call.hand_position_back() : 0;
    return error != 0 ? call.fail(error) : call.pass();
  }
  if ((flags & SLUICE_SETTLE_LEAVE) != 0 && call.buffer.process != this_process().id) {
    return call.pass();
  }
  int error = call.flush();
  if ((flags & SLUICE_SETTLE_POSITION) != 0 && (error == 0 || (flags & SLUICE_SETTLE_LOCK) != 0)) {
    const int later = call.hand_position_back();
    error = error != 0 ? error : later;
  }
  if ((flags & SLUICE_SETTLE_RETIRE) == SLUICE_SETTLE_RETIRE && error == 0) {
    disengage(call.area, call.buffer, call.activity.descriptor);
    call.buffer.retired = true;
  }
  call.activity.flags = flags;
  return error != 0 ? call.fail(error) : call.pass();
}

std::int64_t sync_kept(const Call& call) {
  const int error = call.flush();
  return error != 0 ? call.fail(error) : call.pass();
}

// What cannot be written and is behind the new end need not be.
std::int64_t truncate_kept(const Call& call) {
  Buffer& buffer = call.buffer;
  const int error = call.flush();
  const std::uint64_t end = call.activity.length;
  if (error == 0 || end >= buffer.base + buffer.length.load(relaxed)) {
    return error == 0 ? call.pass() : call.fail(error);
  }
  const bool ours = buffer.leased || is_unchanged(call.activity.descriptor, buffer);
  const std::int64_t result = call.pass();
  if (result == 0) {
    buffer.length.store(end > buffer.base ? end - buffer.base : 0, std::memory_order_release);
    buffer.unwritten = end > buffer.base;
    stamp_again(buffer, call.activity.descriptor, ours);
  }
  return result;
}

// The kernel does it, as if nothing were kept back.
std::int64_t done_below(const Call& call) {
  int error = call.flush();
  if (error == 0 || call.activity.operation != SLUICE_WRITE) {
    error = call.hand_position_back();
  }
  return error != 0 ? call.fail(error) : call.pass();
}

std::int64_t act_engaged(const Call& call) {
  const sluice_activity& activity = call.activity;
  const bool moves = activity.operation == SLUICE_WRITE || activity.operation == SLUICE_READ;
  if (moves && (activity.length == 0 || !is_memory(activity.data, activity.length))) {
    return done_below(call);
  }
  switch (activity.operation) {
    case SLUICE_WRITE:
      return write_kept(call);
    case SLUICE_READ:
      return read_kept(call);
    case SLUICE_SEEK:
      return seek_kept(call);
    case SLUICE_SETTLE:
      return settle_kept(call);
    case SLUICE_TRUNCATE:
      return truncate_kept(call);
    default:
      return sync_kept(call);
  }
}

// Nothing is kept back yet. Small writes are counted until it seems worth it; whether it is now.
bool is_worth_it(const Call& call) {
  Buffer& buffer = call.buffer;
  const sluice_activity& activity = call.activity;
  if (activity.operation == SLUICE_SETTLE &&
      (activity.flags & SLUICE_SETTLE_RETIRE) == SLUICE_SETTLE_RETIRE &&
      ((activity.flags & SLUICE_SETTLE_LEAVE) == 0 || buffer.process == this_process().id)) {
    buffer.retired.store(true, relaxed);
    call.area.note(Unkept::given_up);
  }
  if (activity.operation != SLUICE_WRITE || activity.length == 0) {
    return false;
  }
  if (activity.data == nullptr) {
    call.area.note(Unkept::copied);
    return false;
  }
  if (activity.length >= static_cast<std::uint64_t>(call.settings.large)) {
    call.area.note(Unkept::large);
    return false;
  }
  if (++buffer.writes <= static_cast<std::uint64_t>(call.settings.after) + buffer.wait) {
    return false;
  }
  buffer.writes = 0;
  const bool good = engage(call.area, buffer, call.settings, activity.descriptor);
  buffer.wait = good ? 0 : std::min(4096U, 64 + 2 * buffer.wait);
  return good;
}

// In a signal's handler that interrupted one of our calls on the same file: nothing of what that one changes
// is changed, and what is kept back is written as it stands, which may be done twice.
std::int64_t act_nested(const Call& call, std::uint32_t generation) {
  Buffer& buffer = call.buffer;
  if (buffer.block == 0 || buffer.generation.load(relaxed) != generation) {
    return call.pass();
  }
  if (const std::int64_t position = buffer.position.load(relaxed); position < 0) {
    buffer.position.store(position - 1, relaxed);  // whoever is about to take the kernel's asks again
  }
  if (call.activity.operation != SLUICE_WRITE || call.activity.data == nullptr) {
    write_copy(call.area, buffer, call.activity, call.next);
    return call.activity.operation == SLUICE_SEEK ? seek_kept(call) : call.pass_at_position();
  }
  if (call.here() && buffer.position.load(relaxed) < 0) {
    return call.pass();  // the kernel's position is right, and it is used
  }
  const std::int64_t at = claim(call);
  sluice_activity placed = call.activity;
  placed.offset = at;
  const std::int64_t result = end_write(call, at, call.next->act(call.next, &placed));
  call.activity.error = placed.error;
  call.activity.result = result;
  if (result > 0) {
    // The extent may be written later: it gets the same bytes.
    const auto first = std::max(static_cast<std::uint64_t>(at), buffer.base);
    const auto last = std::min(static_cast<std::uint64_t>(at + result), buffer.end);
    if (first < last) {
      std::memcpy(
          call.area.bytes_of(buffer) + (first - buffer.base),
          static_cast<const std::byte*>(call.activity.data) + (first - static_cast<std::uint64_t>(at)),
          last - first);
    }
    stamp_again(buffer, call.activity.descriptor, buffer.leased);
  }
  return result;
}

std::int64_t open_file(const Settings& settings, void** file_state, sluice_activity& activity,
                       const sluice_next* next) {
  const std::int64_t fd = next->act(next, &activity);
  Area* area = this_area();
  const int access = activity.flags & O_ACCMODE;
  if (fd < 0 || area == nullptr || area->buffers == 0 || (access != O_WRONLY && access != O_RDWR)) {
    return fd;
  }
  if (fd < 3 || (activity.flags & unkept) != 0) {
    area->note(fd < 3 ? Unkept::inherited : Unkept::flags);
    return fd;
  }
  const Process& process = this_process();
  if (Buffer* buffer = area->take_buffer(process.id, process.started); buffer != nullptr) {
    buffer->readable = access == O_RDWR;
    buffer->level = settings.level;
    *file_state = pack(*area, *buffer);
  } else {
    area->note(Unkept::memory);
  }
  return fd;
}

// The last descriptor of this process. Another may still have the file, then it stays that one's.
int leave_file(const Call& call, std::uint32_t generation, Locked locked) {
  Buffer& buffer = call.buffer;
  if (buffer.generation.load(relaxed) != generation || buffer.process != this_process().id) {
    return 0;
  }
  if (locked == Locked::already) {
    return buffer.block != 0 ? write_copy(call.area, buffer, call.activity, call.next).error : 0;
  }
  int error = 0;
  if (buffer.block != 0) {
    error = call.flush();
    if (error != 0) {
      buffer.started = never_started;  // nobody comes back to it: it is as a dead process's
      return error;
    }
    error = call.hand_position_back();  // a child may still have the file
    disengage(call.area, buffer, call.activity.descriptor);
  } else if (!buffer.retired.load(relaxed) && buffer.writes > 0) {
    call.area.note(Unkept::few);
  }
  Area::give_back(buffer);
  return error;
}

// All but that: apart from it, so that it has no more on its stack than it needs.
[[gnu::noinline]] std::int64_t act_slowly(const Settings& settings, void** file_state,
                                          sluice_activity* activity, const sluice_next* next) {
  if (activity->operation == SLUICE_OPEN) {
    return open_file(settings, file_state, *activity, next);
  }
  if (*file_state == nullptr && activity->operation == SLUICE_WRITE &&
      this_area()->unkept.load(relaxed) == 0) {
    this_area()->note(Unkept::inherited);  // it passed no open here
  }
  // A child shares what is kept back.
  if (*file_state == nullptr ||
      (activity->operation == SLUICE_SETTLE && activity->flags == SLUICE_SETTLE_SHARE)) {
    return next->act(next, activity);
  }
  Area& area = *this_area();
  const Kept kept = unpack(area, *file_state);
  Buffer& buffer = *kept.buffer;
  const bool here = activity->offset == SLUICE_AT_POSITION;
  const bool closes = activity->operation == SLUICE_CLOSE;
  // Reads and writes of others are not made to wait while nothing is kept back.
  if (!closes && buffer.block.load(relaxed) == 0 &&
      (activity->operation == SLUICE_READ || buffer.retired.load(relaxed)) && !here) {
    return next->act(next, activity);
  }
  int error = 0;
  {
    const BufferHold hold(buffer);
    const Call call{area, buffer, settings, *activity, next, hold.own};
    if (closes) {
      *file_state = nullptr;
      error = leave_file(call, kept.generation, hold.locked);
    } else if (hold.locked == Locked::already) {
      return act_nested(call, kept.generation);
    } else if (buffer.generation.load(relaxed) == kept.generation && !buffer.retired.load(relaxed)) {
      const bool engaged = buffer.block.load(relaxed) != 0 || is_worth_it(call);
      // What moves the kernel's position waits for who is about to take it over.
      if (engaged || here || activity->operation == SLUICE_SEEK) {
        return engaged ? act_engaged(call) : call.pass();
      }
    }
  }
  const std::int64_t result = next->act(next, activity);
  return result == 0 && error != 0 ? fail(*activity, error) : result;
}

std::int64_t act(void* state, void** file_state, sluice_activity* activity, const sluice_next* next) {
  const auto& settings = *static_cast<const Settings*>(state);
  if (activity->operation == SLUICE_WRITE && *file_state != nullptr) [[likely]] {
    Area& area = *this_area();
    const Kept kept = unpack(area, *file_state);
    if (write_quickly(area, *kept.buffer, kept.generation, settings, *activity)) [[likely]] {
      return activity->result;
    }
  }
  return act_slowly(settings, file_state, activity, next);
}

}  // namespace
}  // namespace sluice::writeback

namespace sluice {

extern const sluice_stage stage_writeback = {
    .size = sizeof(sluice_stage),
    .version = SLUICE_STAGE_VERSION,
    .name = "writeback",
    .summary = "merges small writes into blocks; survives kill -9",
    .scope = "file",
    .interference = "calls",
    .state = "buffers",
    .semantics = "relaxed",
    .parameters =
        "level=strict when others see it: strict, close\nblock=0 writes end at multiples of it; 0 = as the "
        "place likes it\nlarge=128K from here on they are passed on as they are\nafter=16 so many small ones "
        "first",
    .operations = SLUICE_ALL | SLUICE_BIT(SLUICE_SETTLE),
    .aside = 0,
    .start = writeback::start,
    .act = writeback::act,
    .wants = nullptr,
};

}  // namespace sluice

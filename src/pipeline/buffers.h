// What stages keep back of open files, in the memory that a run shares: every byte that the program was told
// is written is here or in the file, whoever is killed. A buffer belongs to an open file description, in all
// processes that share it.
//
// Who holds the lock changes a buffer; `length` is stored after the bytes, `base` only while it is 0.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "pipeline/process.h"

namespace sluice {

inline constexpr std::uint32_t area_buffers = 4096;
inline constexpr std::size_t block_bytes = std::size_t{1024} * 1024;
inline constexpr std::size_t most_blocks = 1024;
inline constexpr std::size_t most_mounts = 256;

// How a file stood when nothing of it was kept back.
struct FileStamp {
  std::int64_t size = 0;
  std::int64_t changed = 0;  // mtime and ctime, in nanoseconds
  std::int64_t touched = 0;

  bool operator==(const FileStamp&) const = default;
};

enum class Level : std::uint8_t { strict, close };

struct alignas(64) Buffer {
  std::atomic<std::uint32_t> lock = 0;        // the thread that changes it; 0 = nobody
  std::atomic<std::uint32_t> generation = 0;  // odd while it is somebody's; another number is another file
  std::atomic<std::uint32_t> block = 0;       // and one; 0 = nothing can be kept back
  std::uint32_t writes = 0;                   // since something was kept back; before: small ones in a row
  std::atomic<std::uint64_t> length = 0;      // bytes kept back
  std::uint64_t base = 0;                     // where they belong
  std::uint64_t end = 0;                      // so far they may reach
  std::atomic<std::int64_t> position =
      -1;  // of the open file; below 0 = the kernel's is right, and a handler
           // that has moved that in the middle of something makes it less

  std::uint32_t wait = 0;             // so many small writes before it is tried again
  std::uint32_t poor = 0;             // times in a row that it was not worth it
  std::uint32_t align = block_bytes;  // where writes end best
  Level level = Level::strict;
  std::atomic<bool> retired = false;    // never again
  std::atomic<bool> disturbed = false;  // a handler wrote to the file in the middle of something
  std::atomic<bool> unwritten = false;  // it could not be the last time
  bool readable = false;
  bool leased = false;
  std::atomic<std::uint32_t> held = 0;  // 2 = the keeper has a duplicate of the open file; 1 = it is to
  pid_t process = 0;
  std::uint64_t started = 0;  // of the process, as the kernel counts
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  FileStamp stamp;
  std::atomic<std::int64_t> began =
      0;  // when they were about to be written, in nanoseconds; 0 = they are not
};

// Why nothing is kept back of a file that is written. docs/run.md, Writeback, says the same.
enum class Unkept : std::uint32_t {
  few = 1,           // small writes
  large = 2,         // writes
  flags = 4,         // of its open
  inherited = 8,     // or a standard one
  given_up = 16,     // opened a second time, mapped, passed on
  shared = 32,       // no lease: others have it open, or may change it
  full = 64,         // its file system
  memory = 128,      // none is left
  user = 256,        // another than the run's
  unattended = 512,  // nobody could write it for a dead process
  scattered = 1024,  // writes that do not continue each other
  copied = 2048      // by the kernel
};

// Where what is kept back of a file ends, where some of it could not be written; 0 = all could.
std::uint64_t unwritten_end(std::uint64_t device, std::uint64_t inode);

// What a file is, whatever it is called: a file_handle, whose size is 0 where the file system gives none.
struct FileHandle {
  alignas(8) std::array<unsigned char, 8 + 128> bytes = {};

  bool operator==(const FileHandle&) const = default;
  [[nodiscard]] bool empty() const { return bytes[0] == 0; }
};

// In front of the bytes of a block: whose they are, and the path as /proc/PID/fd says it.
struct BlockHead {
  FileHandle handle;
  std::array<char, 4096> path = {};
  std::uint64_t filesystem = 0;  // that it is on, whatever number its device has; 0 = not known
};
inline constexpr std::size_t block_head_bytes = 8192;
inline constexpr std::size_t block_stride = block_head_bytes + block_bytes;
static_assert(sizeof(BlockHead) <= block_head_bytes);

struct AreaBlock {
  std::atomic<std::uint32_t> state =
      0;  // 0 without memory, 1 free, 2 taken, 3 taken by files that are pending
};

// A mount whose files only this machine changes, and to what writes there are best aligned.
struct AreaMount {
  std::int32_t id = 0;
  std::uint32_t align = 0;  // 0 = anything
};

// What processes tell the keeper, the process that runs them.
struct KeeperMessage {
  enum Kind : std::uint32_t {
    hold = 1,
    drop = 2,
    watch = 3,
    home = 4,
    snapshot = 5,
    refresh = 6,
    folder = 7,
    lend = 8,
    fetch = 9,
    whole = 10,
    refresh_all = 11,
    ready = 12
  };
  std::uint32_t kind = 0;
  std::uint32_t buffer = 0;  // or the number of a file that is pending
  std::uint32_t generation = 0;
  pid_t process = 0;
};

inline Locked lock_buffer(Buffer& buffer, pid_t thread, int patience = 0) {
  return take_lock(buffer.lock, thread, patience);
}
inline void unlock_buffer(Buffer& buffer) {
  give_lock_back(buffer.lock);
}

// What a call of this thread on a buffer would leave behind where a signal's handler jumps out of it.
struct HeldBuffer {
  Buffer* buffer = nullptr;
  std::uintptr_t frame = 0;  // where on its stack the thread is
  std::int64_t at = 0;       // so far the call has got
  std::int64_t taken = -1;   // where the position is already; -1 = where it was
};
// Each in a handler that interrupted the one before.
struct HeldBuffers {
  std::array<HeldBuffer, 8> all = {};
  std::size_t count = 0;

  [[nodiscard]] HeldBuffer& at(std::size_t depth) { return all[depth % all.size()]; }
};
__attribute__((tls_model("initial-exec"))) extern thread_local constinit HeldBuffers held_buffers;
// In a child that a handler forked, which had interrupted a call with such a lock: who has it. The child's
// own calls on the file come in the middle of that one as well. 0 = nobody.
__attribute__((tls_model("initial-exec"))) extern thread_local constinit pid_t forked_by;
// Of calls that are gone when the stack reaches down to `to` alone: their locks are given back, and the
// position is where their bytes end.
void leave_buffers(std::uintptr_t to);

// The lock of a buffer while this lives; `already` in a handler that interrupted the call that has it.
class BufferHold {
 public:
  [[gnu::always_inline]] explicit BufferHold(Buffer& buffer)
      : buffer_(buffer), depth_(held_buffers.count), own(place(depth_)) {
    // A handler that comes in between has the next one.
    held_buffers.count = depth_ + 1;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    own.frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    own.buffer = &buffer;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (forked_by != 0) [[unlikely]] {
      forked_by = depth_ == 0 ? 0 : forked_by;
      if (forked_by != 0 &&
          buffer.lock.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(forked_by)) {
        locked = Locked::already;
        return;
      }
    }
    locked = lock_buffer(buffer, lock_owner());
    if (locked == Locked::already) [[unlikely]] {
      locked = take_over(depth_);
    }
  }
  BufferHold(const BufferHold&) = delete;
  BufferHold& operator=(const BufferHold&) = delete;
  [[gnu::always_inline]] ~BufferHold() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    own.taken = -1;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (locked == Locked::yes) [[likely]] {
      leave(buffer_);
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    held_buffers.count = depth_;
  }

 private:
  // Not its parent's.
  [[gnu::always_inline]] static void leave(Buffer& buffer) {
    if (forked_by == 0 ||
        buffer.lock.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(forked_by)) [[likely]] {
      unlock_buffer(buffer);
    }
  }
  // Whether the call of this thread that has the lock is gone without a word.
  static Locked take_over(std::size_t depth);
  // Hidden from the compiler, which would look for it anew at each use.
  [[gnu::always_inline]] static HeldBuffer& place(std::size_t depth) {
    HeldBuffer* out = &held_buffers.at(depth);
    asm("" : "+r"(out));
    return *out;
  }

  Buffer& buffer_;
  std::size_t depth_;

 public:
  HeldBuffer& own;
  Locked locked = Locked::no;
};

bool is_alive(const Buffer& buffer);
// The file stands as its stamp says, at a time that no write of another can be given by a clock that ticks.
bool stamp_file(Buffer& buffer, int fd);
FileStamp stamp_of(int fd, bool& good);
// Whether the file is as it was when its buffer was stamped.
bool is_unchanged(int fd, const Buffer& buffer);
// Whether nobody else can have written to a file since it was leased for a buffer: whoever opens it waits,
// and may only have set its times by name.
bool is_lease_kept(int fd, const Buffer& buffer);
// And the number of the mount that it is on, or -1.
FileHandle handle_of(int fd, int& mount);

}  // namespace sluice

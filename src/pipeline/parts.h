// Files that are in parts while a program runs: each open file writes to a part of its own elsewhere, and
// which pieces of the file that is, and in what order, is noted here. The file itself, the whole, is at its
// path and has none of it until the parts are brought together (run/combine.h). All processes of a run share
// these tables.
//
// A piece is noted when its data is in the part, and counts from then on, whoever is killed. Who holds the
// lock of a part changes it; that of the table is for wholes, and for taking parts. Of both, the part's comes
// first.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "pipeline/buffers.h"
#include "pipeline/process.h"

namespace sluice {

// Where a part has bytes of the file, or what became of the file's size.
struct Piece {
  static constexpr std::uint64_t cut = UINT64_MAX;  // a length: the file ends at the offset from then on
  static constexpr std::uint64_t grown = 0;         // a length: it ends there at least

  std::uint64_t order = 0;  // in the run; never twice
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

struct alignas(64) AreaPart {
  enum Flag : std::uint32_t {
    closed = 1,  // who opened it has closed it
    retired = 2  // its pieces are in the file, and what is written goes there
  };
  static constexpr std::uint32_t most_pieces = 72;  // more are in its log

  std::atomic<std::uint32_t> lock = 0;        // the thread that changes it; 0 = nobody
  std::atomic<std::uint32_t> generation = 0;  // odd while it is somebody's; another number is another part
  std::atomic<std::uint32_t> flags = 0;
  std::atomic<std::uint32_t> count = 0;  // pieces that are noted here
  std::atomic<std::uint32_t> whole = 0;  // its row
  pid_t process = 0;                     // who opened it, and since when that lives
  std::uint64_t started = 0;
  std::uint64_t logged = 0;         // bytes of its log; what is noted here comes behind them
  std::array<char, 256> data = {};  // its path; that of its log ends in ".log"
  std::array<Piece, most_pieces> pieces = {};
};
static_assert(sizeof(AreaPart) == 2048);

struct AreaWhole {
  enum State : std::uint32_t {
    unused,
    parted,
    gathering,  // somebody is bringing its parts together
    together    // all is in the file: what is left of its parts counts no more
  };
  std::atomic<std::uint32_t> state = unused;
  std::atomic<std::uint32_t> generation = 0;  // another number is another file
  std::atomic<std::uint32_t> wanted = 0;      // somebody waits until it is one
  std::atomic<std::uint32_t> synced = 0;      // the program was told that it is safe
  std::atomic<std::uint32_t> failures = 0;    // to bring its parts together
  std::atomic<std::int32_t> error = 0;        // the last of them, an errno
  std::atomic<std::uint32_t> known = 0;    // to who brings its parts together, whatever becomes of its name
  std::atomic<std::uint32_t> removed = 0;  // its last name is gone: when nobody has it open, neither is it
  std::atomic<std::uint64_t> device = 0;
  std::atomic<std::uint64_t> inode = 0;
  FileHandle handle;                       // another file may get the same number later
  std::atomic<std::uint64_t> size = 0;     // as the program sees it
  FileStamp stamp;                         // of the file that is there, as we left it
  std::atomic<std::int64_t> began = 0;     // when its last bytes were about to be written there; nanoseconds
  std::atomic<std::int64_t> changed = 0;   // when the program last changed it; 0 = not yet
  std::atomic<std::uint32_t> settled = 0;  // 1 = that counts, whatever the file that is there says
  std::atomic<pid_t> gatherer = 0;         // who brings its parts together, and since when that lives
  std::atomic<std::uint64_t> gathering_since = 0;
  std::array<char, 760> path = {};
};

struct AreaParts {
  std::atomic<std::uint32_t> lock = 0;
  std::atomic<std::uint32_t> live = 0;  // wholes
  std::atomic<std::uint32_t> top = 0;   // rows above were never used
  std::atomic<std::uint32_t> full = 0;  // 1 = a file that is used natively could not be noted: no new wholes
  std::atomic<std::uint32_t> gathered = 0;  // wholes that came to be one
  std::atomic<std::uint64_t> order = 0;     // of the next piece, less one
  std::array<AreaWhole, 256> wholes = {};
  std::array<AreaPart, 1024> parts = {};
  std::array<std::atomic<std::uint64_t>, 16384> native = {};  // files that are not to be parted any more
};

// Of the process's run; null where nothing can be in parts.
AreaParts* this_parts();
// Whether any file is in parts now.
inline bool is_parted() {
  const AreaParts* parts = this_parts();
  return parts != nullptr && parts->live.load(std::memory_order_relaxed) != 0;
}
inline bool is_parted(const AreaWhole& whole) {
  const std::uint32_t state = whole.state.load(std::memory_order_acquire);
  return state == AreaWhole::parted || state == AreaWhole::gathering;
}
// The row of a file that is in parts, else null.
AreaWhole* whole_of(AreaParts& parts, std::uint64_t device, std::uint64_t inode);
// Whether somebody who lives brings its parts together just now, the keeper or who recovers.
bool is_being_gathered(const AreaWhole& whole);
// Waits until nobody does, where the keeper is gone or goes.
void wait_for_gatherer(std::uint64_t device, std::uint64_t inode);
// Whether the program changed it later than anybody set the times that the file itself has. A write at the
// same moment came before that.
bool is_changed_since(const AreaWhole& whole, std::int64_t changed, std::int64_t touched);
template <class Time>
std::int64_t as_nanoseconds(const Time& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1000000000 + static_cast<std::int64_t>(time.tv_nsec);
}
template <class Time>
void set_nanoseconds(Time& time, std::int64_t to) {
  time.tv_sec = to / 1000000000 - (to % 1000000000 < 0 ? 1 : 0);
  time.tv_nsec = static_cast<decltype(time.tv_nsec)>(to - time.tv_sec * 1000000000);
}
// Looks at what is said of a file, and corrects its size and times where it is in parts. `look` returns 0
// where it is said; the others are where it is said then.
template <class Look, class Number, class Size, class Time>
int look_at_whole(Look look, const Number& device, const Number& inode, Size& size, Time& changed,
                  Time& touched) {
  AreaParts* parts = this_parts();
  if (parts == nullptr || parts->live.load(std::memory_order_relaxed) == 0) [[likely]] {
    const int out = look();
    if (const std::uint64_t end = out == 0 ? unwritten_end(device, inode) : 0;
        end > static_cast<std::uint64_t>(size)) [[unlikely]] {
      size = static_cast<Size>(end);
    }
    return out;
  }
  const std::uint32_t before = parts->gathered;
  const int out = look();
  if (out != 0) {
    return out;
  }
  if (const AreaWhole* whole = whole_of(*parts, device, inode); whole != nullptr) {
    size = static_cast<Size>(whole->size.load(std::memory_order_relaxed));
    if (is_changed_since(*whole, as_nanoseconds(changed), as_nanoseconds(touched))) {
      const std::int64_t last = whole->changed;
      set_nanoseconds(changed, last);
      if (last > as_nanoseconds(touched)) {
        set_nanoseconds(touched, last);
      }
    }
    return out;
  }
  return parts->gathered == before ? out : look();  // it may have been in parts before
}

// The last name of a file is about to be removed, or replaced, and was.
class LastName {
 public:
  LastName(int folder, const char* path);
  // Notes it, where the call has done it: renamed to itself, a file keeps its name.
  int removed(int result) const;

 private:
  int folder_;
  const char* path_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;  // 0 = no file in parts
};

// A file is not to be in parts from now on; notes it, no more.
void note_native(AreaParts& parts, std::uint64_t device, std::uint64_t inode);
bool is_native(const AreaParts& parts, std::uint64_t device, std::uint64_t inode);
// The same, and waits until its parts are together: 0, or an errno. Where the keeper is gone and nobody
// recovers it just now, it is as it is.
int make_native(std::uint64_t device, std::uint64_t inode);
// Of the file that a path names, where there is one.
int make_native(int folder, const char* path);
// What there is of it is in the file, and parts that come later are of another whole. An empty path is that
// of a descriptor.
int bring_together(std::uint64_t device, std::uint64_t inode);
int bring_together(int folder, const char* path);

// Notes a piece. False where that cannot be: its log cannot be written. REQUIRES: the part's lock.
bool note_piece(AreaParts& parts, AreaPart& part, std::uint64_t offset, std::uint64_t length);
// All that is noted is in the log; with `sync` the part and its log are on the device. 0 or errno. REQUIRES:
// the part's lock.
int write_log(AreaParts& parts, AreaPart& part, bool sync);

// What a log begins with, and then the pieces, each with a check.
struct LogHead {
  static constexpr std::array<char, 8> right_magic = {'s', 'l', 'u', 'i', 'c', 'e', 'p', 't'};
  static constexpr std::uint32_t right_version = 1;

  std::array<char, 8> magic = right_magic;
  std::uint32_t version = right_version;
  std::uint32_t whole = 0;  // with generation and run: logs that have these alike are of one file
  std::uint32_t generation = 0;
  std::uint32_t reserved = 0;
  std::uint64_t inode = 0;
  FileStamp stamp;
  std::array<char, 64> run = {};
  std::array<char, 760> path = {};
  std::uint64_t check = 0;
};
struct LogPiece {
  Piece piece;
  std::uint64_t check = 0;
};
inline constexpr std::size_t log_head_bytes = 4096;
static_assert(sizeof(LogHead) <= log_head_bytes && sizeof(LogPiece) == 32);
// Of the bytes before it.
std::uint64_t check_of(const LogHead& head);
std::uint64_t check_of(const LogPiece& one);
std::array<char, 264> log_path(const AreaPart& part);

// Holds a lock of these tables. No signal comes meanwhile: its handler could want it, too.
class PartLock {
 public:
  explicit PartLock(std::atomic<std::uint32_t>& lock);
  PartLock(const PartLock&) = delete;
  PartLock& operator=(const PartLock&) = delete;
  ~PartLock();

 private:
  Unsignalled whole_;
  std::atomic<std::uint32_t>& lock_;
};

}  // namespace sluice

// New files that are in the memory of a run alone: all their bytes, and what will be said of them, from when
// they are opened until somebody puts them down at their path. Any process of the run finds them by folder
// and name, and whoever is killed, they are still there.
//
// Who holds a file's lock changes it. The lock of the index is for finding and adding; it is taken before
// that one, and the lock of a name before both: who makes a file of that name, here or in its folder, has it
// until that is known to be the only one. Every change of what others read is one store, so that whoever is
// killed leaves things whole.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "pipeline/buffers.h"
#include "pipeline/process.h"

namespace sluice {

struct Area;

struct alignas(64) Pending {
  enum State : std::uint32_t {
    unused,
    open,    // a process has it open
    closed,  // nobody has
    lent,    // the keeper has put it down for others; the process that has it open does not know yet
    home,    // it is where it belongs, or gone
    making   // who has its lock is about to open it; where nobody has, it never was
  };
  std::atomic<std::uint32_t> lock = 0;
  std::atomic<std::uint32_t> state = unused;
  std::atomic<std::uint32_t> next = 0;  // number of the next in its bucket
  std::uint32_t sibling = 0;            // and of the one before it in its block
  std::uint32_t bucket = 0;
  std::uint32_t mode = 0;
  std::int32_t flags = 0;        // that it was opened with
  std::int32_t descriptor = -1;  // in the process that has it open
  std::atomic<std::uint64_t> length = 0;
  std::atomic<std::uint64_t> data = 0;  // where in the area its bytes are
  std::uint64_t room = 0;               // for so many
  std::uint64_t device = 0;             // of its folder
  std::uint64_t inode = 0;
  std::uint64_t folder_print = 0;  // of its handle: another folder may get its number; 0 = not known
  std::uint64_t filesystem = 0;    // that it is on, whatever number its device has; 0 = not known
  std::uint64_t own_device = 0;    // of the file, where it is lent
  std::uint64_t own_inode = 0;
  std::atomic<std::int64_t> changed = 0;  // when, in nanoseconds
  std::uint64_t started = 0;              // of the process
  pid_t process = 0;
  uid_t user = 0;
  bool invents = false;                   // a number for who asks what file it is
  std::uint32_t flocked = 0;              // LOCK_SH or LOCK_EX, which its process has
  std::atomic<std::uint32_t> begun = 0;   // somebody began to put it down: what is at its path may be ours
  std::atomic<std::uint32_t> asked = 0;   // somebody waits for the keeper to lend it
  std::atomic<std::int32_t> refused = 0;  // errno of when the keeper could not
  std::atomic<std::uint32_t> pass = 0;    // in which it was seen last
  std::uint32_t path_size = 0;
  std::uint32_t name = 0;  // where in the path it begins

  // Behind the structure.
  [[nodiscard]] char* path() { return reinterpret_cast<char*>(this + 1); }
  [[nodiscard]] const char* path() const { return reinterpret_cast<const char*>(this + 1); }
  [[nodiscard]] std::string_view own_name() const { return {path() + name, path_size - name}; }
};

inline constexpr std::uint32_t pending_buckets = 32768;

// In front of a block that holds files and their bytes.
struct PendingBlock {
  std::atomic<std::uint32_t> live = 0;  // files that are not home, and their bytes, each counted once
  std::atomic<std::uint32_t> full = 0;  // nothing is added any more
  std::uint32_t first = 0;              // the number of the last file in it
  pid_t process = 0;                    // that adds
  std::uint64_t started = 0;
};

// A folder, whatever it is called.
struct FolderId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  bool operator==(const FolderId&) const = default;
  auto operator<=>(const FolderId&) const = default;
};

class NameLock {
 public:
  NameLock(Area& area, const FolderId& folder, std::string_view name);
  NameLock(const NameLock&) = delete;
  NameLock& operator=(const NameLock&) = delete;
  ~NameLock();
  // Not in a handler that interrupted who has it, and not where somebody has it for very long, as on storage
  // that does not answer.
  explicit operator bool() const { return taken_; }

 private:
  std::atomic<std::uint32_t>& lock_;
  bool taken_;
};

// For who removes a folder, or gives it another name: as long as it lives, nobody begins to keep a file in
// memory, which would be one that was not put down before.
class FolderHold {
 public:
  explicit FolderHold(Area* area);
  FolderHold(const FolderHold&) = delete;
  FolderHold& operator=(const FolderHold&) = delete;
  ~FolderHold();

 private:
  Area* area_ = nullptr;
  std::atomic<std::uint32_t>* lock_ = nullptr;
};
// Whether there is one.
bool is_folder_held(Area& area);
// Those of who is dead. It may wait for a moment.
void end_folder_holds(Area& area);

std::uint32_t number_of(Area& area, const Pending& file);
// Null where there can be none of that number.
Pending* pending_at(Area& area, std::uint32_t number);

// One that is not home, with its lock; null where there is none.
Pending* find_pending(Area& area, const FolderId& folder, std::string_view name);
// The one of a number, with its lock, where it is open or closed; null where it is not, or what is there by
// now is another's.
Pending* find_pending(Area& area, std::uint32_t number);
// A new one, with its lock; null where there is no room. It is being made until who makes it says that it is
// open: whoever does not get so far leaves nothing. REQUIRES: begin_process().
Pending* add_pending(Area& area, const FolderId& folder, std::string_view path, mode_t mode, int flags);
// Room for so many bytes; false where there is none. REQUIRES: its lock.
bool make_room(Area& area, Pending& file, std::uint64_t bytes);
// It is where it belongs, or nobody wants it any more. REQUIRES: its lock.
void end_pending(Area& area, Pending& file);
// Whether nobody has it open. REQUIRES: its lock.
bool is_left(const Pending& file);

// For who goes through all: the next in a bucket that is not home and was not seen in this pass, with its
// lock. A pass is a number of its own, from new_pass().
std::uint32_t new_pass(Area& area);
Pending* take_pending(Area& area, std::uint32_t bucket, std::uint32_t pass);
// Whether anything is not home.
bool has_pending(const Area& area);

// What is said of it. Its number is one that no file system gives: who remembers it finds another when it is
// a file of the kernel's. REQUIRES: its lock.
void describe(Area& area, const Pending& file, struct stat& out);

// Blocks in which all is home are free again. Only the keeper, and who comes after it.
void free_pending_blocks(Area& area);

// What became of one that was put down.
struct PutDown {
  int error = 0;  // errno; it is still pending then
  int fd = -1;    // of the file, open as the program had it
  bool beside = false;
  std::array<char, 256> name = {};  // where that is not its own
};
// Makes the file in its folder and closes nothing. Another one that is there already stays, and ours comes
// beside it. REQUIRES: its lock.
PutDown put_down(Area& area, Pending& file, int folder);
// So many bytes of a name are left in that of a file beside it, which goes on with ".sluice-recovered".
std::size_t beside_length(std::string_view name);
// Its folder, by its path, or under another name beside that; else -1.
int open_folder(const Pending& file);
// Whether a folder is the one that it was made in.
bool is_folder_of(const Pending& file, int folder);
// The same where only what it is on is to be the same.
bool is_filesystem_of(const Pending& file, int folder);
// What a file system is called by itself; 0 where it does not say.
std::uint64_t filesystem_of(int fd);
// What tells a folder from another that gets its number later; 0 where its file system does not say.
std::uint64_t print_of(const FileHandle& handle);

}  // namespace sluice

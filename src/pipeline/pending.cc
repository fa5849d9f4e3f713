#include "pipeline/pending.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "pipeline/area.h"
#include "pipeline/tell.h"

// Bare system calls: in a program these are calls of Sluice's, which pass no stage.
namespace sluice {
namespace {

constexpr std::uint64_t unit = 64;  // what a number counts
constexpr int soon = 1;             // milliseconds that somebody with a file's lock is waited for at a time
constexpr int most_waits = 10000;
constexpr int few_waits = 1000;
constexpr std::uint64_t least_room = 512;
constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t first_mapped = 4 * page_bytes;
constexpr int name_patience = 1000;  // milliseconds

// Where this process adds. A child begins a block of its own.
struct Arena {
  std::atomic<std::uint32_t> lock = 0;
  const Area* area = nullptr;
  std::atomic<std::int64_t> process = 0;  // whose it is; negative while its first thread makes it so
  std::uint32_t block = 0;                // and one
  std::uint64_t used = 0;
  std::uint64_t mapped = 0;  // up to here memory is there without a fault for each page
};
constinit Arena arena;

class IndexLock {
 public:
  explicit IndexLock(Area& area) : area_(area), taken_(hold_lock(area.pending_lock)) {}
  IndexLock(const IndexLock&) = delete;
  IndexLock& operator=(const IndexLock&) = delete;
  ~IndexLock() {
    if (taken_ == Locked::yes) {
      let_go(area_.pending_lock);
    }
  }
  // Not in a handler that interrupted who has it.
  explicit operator bool() const { return taken_ == Locked::yes; }

 private:
  Area& area_;
  Locked taken_;
};

constexpr std::uint64_t rounded(std::uint64_t bytes) {
  return (bytes + unit - 1) / unit * unit;
}

std::uint64_t offset_of(const Area& area, const void* memory) {
  return static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(memory) -
                                    reinterpret_cast<const std::byte*>(&area));
}

// The block that an offset is in, and one.
std::uint32_t block_at(const Area& area, std::uint64_t offset) {
  return static_cast<std::uint32_t>((offset - area.blocks) / block_stride + 1);
}

PendingBlock& head_of(Area& area, std::uint32_t block) {
  return *area.at<PendingBlock>(area.blocks + (block - 1) * block_stride);
}

std::uint32_t bucket_of(const FolderId& folder, std::string_view name) {
  const std::uint64_t hash = path_hash(name) ^ (folder.inode * 0x9e3779b97f4a7c15) ^ folder.device;
  return static_cast<std::uint32_t>((hash ^ (hash >> 29)) & (pending_buckets - 1));
}

// Whether there is a block to which this process adds.
bool is_ours(const Area& area) {
  return arena.area == &area && arena.process == this_process().id && arena.block != 0;
}

void nap() {
  const timespec time{.tv_sec = 0, .tv_nsec = 50000};
  syscall(SYS_nanosleep, &time, nullptr);
}

// In a child nobody has the lock that a thread of its parent had. One thread sees to that, others wait; not
// for ever, because a signal's handler may have interrupted that very thread: false.
bool begin_arena() {
  const std::int64_t self = this_process().id;
  std::int64_t process = arena.process.load(std::memory_order_acquire);
  if (process == self) [[likely]] {
    return true;
  }
  if (process != -self && arena.process.compare_exchange_strong(process, -self)) {
    arena.block = 0;
    arena.lock.store(0);
    arena.process.store(self, std::memory_order_release);
    return true;
  }
  for (int waits = 0; waits < few_waits && arena.process.load(std::memory_order_acquire) != self; ++waits) {
    nap();
  }
  return arena.process.load(std::memory_order_acquire) == self;
}

// A block to add to. REQUIRES: the arena's lock.
bool begin_block(Area& area) {
  const bool again = is_ours(area);
  if (again) {
    head_of(area, arena.block).full.store(1);
  }
  arena.block = 0;
  const std::uint32_t block = area.take_block();
  if (area.pending_blocks.load() * 2 >= area.block_count || block == 0) {
    // It looks for itself, too, where it does not hear.
    if (area.pending_hurry.exchange(1) == 0) {
      tell_keeper(area, {.kind = KeeperMessage::home, .buffer = 0, .generation = 0, .process = 0}, -1);
    }
  }
  if (block == 0) {
    return false;
  }
  PendingBlock& head = head_of(area, block);
  head.live = 0;
  head.full = 0;
  head.first = 0;
  head.process = this_process().id;
  head.started = this_process().started;
  area.pending_blocks.fetch_add(1);
  area.block_states[block - 1].state.store(3);
  arena.area = &area;
  arena.block = block;
  arena.used = block_head_bytes;
  arena.mapped = 0;
  // Who fills one will need another, and new pages cost more than all else of a file.
  if (again) {
    tell_keeper(area, {.kind = KeeperMessage::ready, .buffer = 0, .generation = 0, .process = 0}, -1);
  }
  return true;
}

// A fault for each page costs more than the bytes of a small file. Twice as far each time: most programs make
// few files. REQUIRES: the arena's lock.
void map_ahead(Area& area, std::uint64_t begin) {
  if (arena.used > arena.mapped) {
    const std::uint64_t to = std::min(std::max(2 * arena.mapped, arena.used + first_mapped), block_stride);
    auto* page = area.at<std::byte>(begin + arena.mapped);
    const int saved = errno;
    syscall(SYS_madvise, page, to - arena.mapped, MADV_POPULATE_WRITE);  // and where not, there are faults
    errno = saved;
    arena.mapped = to / page_bytes * page_bytes;
  }
}

// So many bytes in a block, which lives as long as they do; 0 where there are none. REQUIRES: the arena's
// lock.
std::uint64_t allocate(Area& area, std::uint64_t bytes) {
  const std::uint64_t wanted = rounded(bytes);
  if (wanted > block_bytes) {
    return 0;
  }
  if ((!is_ours(area) || arena.used + wanted > block_stride) && !begin_block(area)) {
    return 0;
  }
  const std::uint64_t begin = area.blocks + (arena.block - 1) * block_stride;
  const std::uint64_t out = begin + arena.used;
  arena.used += wanted;
  map_ahead(area, begin);
  head_of(area, arena.block).live.fetch_add(1);
  return out;
}

// The last that was allocated can become larger where it is. REQUIRES: the arena's lock.
bool extend(Area& area, std::uint64_t offset, std::uint64_t room, std::uint64_t wanted) {
  if (!is_ours(area)) {
    return false;
  }
  const std::uint64_t begin = area.blocks + (arena.block - 1) * block_stride;
  const std::uint64_t more = rounded(wanted) - rounded(room);
  if (offset + rounded(room) != begin + arena.used || arena.used + more > block_stride) {
    return false;
  }
  arena.used += more;
  map_ahead(area, begin);
  return true;
}

void release(Area& area, std::uint64_t offset) {
  if (offset != 0) {
    head_of(area, block_at(area, offset)).live.fetch_sub(1);
  }
}

bool is_home(const Pending& file) {
  const std::uint32_t state = file.state.load(std::memory_order_acquire);
  return state == Pending::home || state == Pending::unused;
}

// Whether there is another of the same name. Those that are home are taken out on the way: a program that
// makes the same file again and again would walk past all of them. REQUIRES: the index's lock.
bool is_known(Area& area, const Pending& file) {
  std::atomic<std::uint32_t>* link = &area.buckets()[file.bucket];
  while (Pending* other = pending_at(area, link->load(std::memory_order_acquire))) {
    if (is_home(*other)) {
      link->store(other->next.load(), std::memory_order_release);
      continue;
    }
    if (other->inode == file.inode && other->device == file.device && other->own_name() == file.own_name()) {
      return true;
    }
    link = &other->next;
  }
  return false;
}

// The first in a bucket that is meant, with its lock.
template <class Meant>
Pending* find(Area& area, std::uint32_t bucket, Meant meant, int most = most_waits) {
  for (int waits = 0; waits < most; ++waits) {
    {
      const IndexLock index(area);
      if (!index) {
        return nullptr;
      }
      Pending* file = pending_at(area, area.buckets()[bucket].load(std::memory_order_acquire));
      while (file != nullptr && (is_home(*file) || !meant(*file))) {
        file = pending_at(area, file->next.load(std::memory_order_acquire));
      }
      if (file == nullptr) {
        return nullptr;
      }
      const Locked locked = hold_lock(file->lock, soon);
      if (locked == Locked::already) {
        return nullptr;
      }
      if (locked == Locked::yes) {
        if (file->state == Pending::making) {
          end_pending(area, *file);  // whoever did is gone
        }
        if (!is_home(*file)) {
          return file;
        }
        let_go(file->lock);
        continue;
      }
    }
    nap();
  }
  return nullptr;
}

}  // namespace

NameLock::NameLock(Area& area, const FolderId& folder, std::string_view name)
    : lock_(area.name_locks[bucket_of(folder, name) % area.name_locks.size()]),
      taken_(hold_lock(lock_, name_patience) == Locked::yes) {}

NameLock::~NameLock() {
  if (taken_) {
    let_go(lock_);
  }
}

FolderHold::FolderHold(Area* area) {
  if (area != nullptr && area->keeps_small.load(std::memory_order_relaxed) != 0) {
    auto& lock = area->removers[static_cast<std::uint32_t>(lock_owner()) % area->removers.size()];
    lock_ = hold_lock(lock) == Locked::yes ? &lock : nullptr;
    area_ = area;
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

FolderHold::~FolderHold() {
  if (area_ != nullptr) {
    // One that the keeper has open keeps its number.
    area_->folder_changes.fetch_add(area_->folders_unheld.load() != 0 ? 1 : 0);
  }
  if (lock_ != nullptr) {
    let_go(*lock_);
  }
}

bool is_folder_held(Area& area) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return std::any_of(area.removers.begin(), area.removers.end(),
                     [](const auto& lock) { return lock.load(std::memory_order_relaxed) != 0; });
}

void end_folder_holds(Area& area) {
  for (std::atomic<std::uint32_t>& lock : area.removers) {
    if (lock.load(std::memory_order_relaxed) != 0 && hold_lock(lock, soon) == Locked::yes) {
      let_go(lock);
    }
  }
}

std::uint32_t number_of(Area& area, const Pending& file) {
  return static_cast<std::uint32_t>((offset_of(area, &file) - area.blocks) / unit);
}

// Nothing is at the beginning of a block but its head, so that 0 is no file's.
Pending* pending_at(Area& area, std::uint32_t number) {
  const std::uint64_t offset = area.blocks + number * unit;
  return number == 0 || offset + sizeof(Pending) > area.bytes ? nullptr : area.at<Pending>(offset);
}

bool has_pending(const Area& area) {
  return area.pending_live.load(std::memory_order_relaxed) != 0;
}

Pending* find_pending(Area& area, const FolderId& folder, std::string_view name) {
  return find(area, bucket_of(folder, name), [&](const Pending& file) {
    return file.inode == folder.inode && file.device == folder.device && file.own_name() == name;
  });
}

// Its block may be free or somebody else's by now. Only what is in the index is a file, and it stays one as
// long as the index's lock is held.
Pending* find_pending(Area& area, std::uint32_t number) {
  Pending* wanted = pending_at(area, number);
  if (wanted == nullptr) {
    return nullptr;
  }
  std::uint32_t bucket = 0;
  {
    const IndexLock index(area);
    bucket = std::atomic_ref(wanted->bucket).load(std::memory_order_relaxed) % pending_buckets;
  }
  const auto is_wanted = [wanted](const Pending& file) {
    return &file == wanted && (file.state == Pending::open || file.state == Pending::closed);
  };
  return find(area, bucket, is_wanted, few_waits);
}

std::uint32_t new_pass(Area& area) {
  return area.pending_passes.fetch_add(1) + 1;
}

Pending* take_pending(Area& area, std::uint32_t bucket, std::uint32_t pass) {
  Pending* file = find(area, bucket, [&](const Pending& one) { return one.pass != pass; });
  if (file != nullptr) {
    file->pass = pass;
  }
  return file;
}

Pending* add_pending(Area& area, const FolderId& folder, std::string_view path, mode_t mode, int flags) {
  const Process& process = this_process();
  if (!begin_arena() || hold_lock(arena.lock) != Locked::yes) {
    return nullptr;
  }
  const std::uint64_t offset = allocate(area, sizeof(Pending) + path.size() + 1);
  if (offset == 0) {
    let_go(arena.lock);
    return nullptr;
  }
  PendingBlock& head = head_of(area, arena.block);
  auto* file = new (area.at<Pending>(offset)) Pending;
  hold_lock(file->lock);
  file->device = folder.device;
  file->inode = folder.inode;
  file->process = process.id;
  file->started = process.started;
  file->path_size = static_cast<std::uint32_t>(path.size());
  file->name = static_cast<std::uint32_t>(path.rfind('/') + 1);
  std::memcpy(file->path(), path.data(), path.size());
  file->path()[path.size()] = 0;
  file->bucket = bucket_of(folder, file->own_name());
  file->mode = mode;
  file->flags = flags;
  file->state.store(Pending::making, std::memory_order_release);
  file->sibling = head.first;
  head.first = number_of(area, *file);
  let_go(arena.lock);
  const IndexLock index(area);
  // The run is over; somebody was faster; or a handler is in the middle of somebody who looks for one.
  if (!index || area.over != 0 || is_known(area, *file)) {
    file->state.store(Pending::home);
    release(area, offset);
    let_go(file->lock);
    return nullptr;
  }
  std::atomic<std::uint32_t>& first = area.buckets()[file->bucket];
  file->next.store(first.load(), std::memory_order_release);
  area.pending_live.fetch_add(1);
  first.store(number_of(area, *file), std::memory_order_release);
  return file;
}

bool make_room(Area& area, Pending& file, std::uint64_t bytes) {
  if (bytes <= file.room) {
    return true;
  }
  if (!begin_arena() || hold_lock(arena.lock) != Locked::yes) {
    return false;
  }
  // What grows is likely to grow again.
  const std::uint64_t wanted = rounded(std::max(bytes, file.room == 0 ? least_room : 2 * file.room));
  const std::uint64_t before = file.data;
  bool good = before != 0 && extend(area, before, file.room, wanted);
  if (!good) {
    const std::uint64_t offset = allocate(area, wanted);
    good = offset != 0;
    if (good) {
      if (file.length > 0) {
        std::memcpy(area.at<std::byte>(offset), area.at<std::byte>(before), file.length);
      }
      file.data.store(offset, std::memory_order_release);
      release(area, before);
    }
  }
  file.room = good ? wanted : file.room;
  let_go(arena.lock);
  return good;
}

void end_pending(Area& area, Pending& file) {
  file.state.store(Pending::home, std::memory_order_release);
  release(area, file.data);
  release(area, offset_of(area, &file));
  area.pending_live.fetch_sub(1);
}

bool is_left(const Pending& file) {
  return file.state == Pending::closed ||
         (file.state == Pending::open && !is_stranger() && process_start(file.process) != file.started);
}

void describe(Area& area, const Pending& file, struct stat& out) {
  out = {};
  out.st_dev = file.device;
  out.st_ino = (std::uint64_t{1} << 62) | number_of(area, file);
  out.st_mode = S_IFREG | file.mode;
  out.st_nlink = 1;
  out.st_uid = file.user;
  out.st_gid = static_cast<gid_t>(syscall(SYS_getegid));
  out.st_size = static_cast<off_t>(file.length.load());
  out.st_blksize = 4096;
  out.st_blocks = (out.st_size + 511) / 512;
  out.st_mtim = {.tv_sec = file.changed / 1000000000, .tv_nsec = file.changed % 1000000000};
  out.st_atim = out.st_mtim;
  out.st_ctim = out.st_mtim;
}

void free_pending_blocks(Area& area) {
  for (std::uint32_t block = 1; block <= area.block_count; ++block) {
    if (area.block_states[block - 1].state.load() != 3) {
      continue;
    }
    PendingBlock& head = head_of(area, block);
    if (head.live != 0 || (head.full == 0 && process_start(head.process) == head.started)) {
      continue;
    }
    const IndexLock index(area);
    bool busy =
        !index || area.block_states[block - 1].state.load() != 3 || head.live != 0;  // somebody was at it
    for (Pending* file = pending_at(area, head.first); file != nullptr && !busy;
         file = pending_at(area, file->sibling)) {
      // Somebody who waits for its lock has the index's, and nobody finds it afterwards.
      busy = hold_lock(file->lock, soon) != Locked::yes;
      if (busy) {
        break;
      }
      std::atomic<std::uint32_t>* link = &area.buckets()[file->bucket];
      const std::uint32_t number = number_of(area, *file);
      while (link->load() != number && link->load() != 0) {
        link = &pending_at(area, link->load())->next;
      }
      if (link->load() == number) {
        link->store(file->next.load());
      }
      let_go(file->lock);
    }
    if (!busy) {
      head.first = 0;
      area.pending_blocks.fetch_sub(1);
      area.free_block(block);
    }
  }
}

}  // namespace sluice

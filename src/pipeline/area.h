// What the processes of one `sluice run` share: a file in memory that its parent made and each of them maps.
// It holds which files get which stages, and what was counted of each file. It outlives all of them, however
// they end.
//
// Written before the first process starts: rules. Written by all of them at once, without locks: files.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/pattern.h"
#include "pipeline/buffers.h"
#include "pipeline/moves.h"
#include "pipeline/parts.h"
#include "pipeline/pending.h"
#include "pipeline/points.h"
#include "pipeline/stack.h"
#include "pipeline/tracing.h"

namespace sluice {

inline constexpr std::array<char, 8> area_magic = {'s', 'l', 'u', 'i', 'c', 'e', 'r', 'n'};
inline constexpr std::uint32_t area_version = 26;
inline constexpr std::size_t most_rules = 1024;
inline constexpr std::uint32_t area_files = 4096;         // rows; a power of two
inline constexpr std::uint32_t area_paths = 1024 * 1024;  // bytes
inline constexpr std::uint32_t area_size_classes = 33;    // of requests, by their bits

struct AreaRule {
  std::uint32_t prefix = 0;  // offsets and lengths in `text`
  std::uint32_t prefix_size = 0;
  std::uint32_t stages = 0;  // specs, a line each
  std::uint32_t stages_size = 0;
  std::uint32_t tokens = 0;  // index and number in `tokens`
  std::uint32_t token_count = 0;
};

// Of the reads, or the writes, of one open file: where the request before ended. Threads that share it race,
// and then the pattern is not sure, but nothing else.
struct LastRequest {
  std::atomic<std::int64_t> end = -1;  // none yet
  std::atomic<std::int64_t> gap = 0;   // that it left to the one before it
};

// Reads or writes of one file.
struct Traffic {
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<std::uint64_t> sequential = 0;  // requests that go on where the one before ended
  std::atomic<std::uint64_t> strided = 0;     // that leave the same gap as the one before
  std::atomic<std::uint64_t> random = 0;
  std::array<std::atomic<std::uint32_t>, area_size_classes> sizes = {};

  // One that moved `moved` bytes of `size` that were wanted.
  void count(std::uint64_t moved, std::uint64_t size);
  // Simpler than trace/pattern.h: threads count at once, without a lock, in memory that outlives them, and a
  // follower of several streams is nothing that can be exchanged at once. A trace is counted in the same way,
  // so that `sluice trace stats` says of a run what its account did.
  void count_pattern(LastRequest& last, std::int64_t begin, std::int64_t moved);
};

struct AreaFile {
  std::atomic<std::uint32_t> state = 0;  // 0 free, 1 being made, 2 there
  std::uint32_t path = 0;                // offset in `paths`
  std::uint32_t path_size = 0;
  std::uint32_t point = 0;  // of the stack, where it was counted: a number of `count_points`
  std::array<std::atomic<std::uint64_t>, SLUICE_OPERATIONS> calls = {};
  std::array<std::atomic<std::uint64_t>, SLUICE_OPERATIONS> failures = {};
  std::array<std::atomic<std::uint64_t>, SLUICE_OPERATIONS> nanoseconds = {};
  std::array<Traffic, 2> traffic = {};    // reads, writes
  std::atomic<std::uint32_t> heard = 0;   // words, as pipeline/heard.h has them
  std::atomic<std::uint32_t> opened = 0;  // how, one of these bits or several

  static constexpr std::uint32_t opened_plain = 1;
  static constexpr std::uint32_t opened_direct = 2;
  static constexpr std::uint32_t opened_synced = 4;
};

struct Area {
  std::array<char, 8> magic = area_magic;
  std::uint32_t version = area_version;
  std::uint32_t rule_count = 0;
  std::uint64_t bytes = 0;  // of the whole
  std::uint64_t rules = 0;  // offsets of what follows this header
  std::uint64_t tokens = 0;
  std::uint64_t text = 0;
  std::uint64_t paths = 0;
  std::uint64_t files = 0;
  std::uint64_t moves = 0;    // and their namings; 0 = nothing is moved in this run
  std::uint64_t parts = 0;    // 0 = no file is in parts in this run
  std::uint64_t buffers = 0;  // 0 = nothing is kept back in this run
  std::uint64_t pending = 0;  // numbers, a bucket each; 0 = no file is pending in this run
  std::uint64_t trace = 0;    // 0 = nothing is traced in this run
  std::uint64_t blocks = 0;   // not in memory before somebody takes one
  std::uint32_t block_count = 0;
  std::uint32_t mount_count = 0;
  std::array<AreaMount, most_mounts> mounts = {};
  std::array<AreaBlock, most_blocks> block_states = {};
  PointNames count_points;             // where in the stacks calls are counted
  std::array<char, 64> own_path = {};  // of its file
  uid_t user = 0;                      // whose run it is
  gid_t group = 0;
  std::uint64_t process_space = 0;         // in which the numbers of processes are meant
  pid_t keeper = 0;                        // the process that runs the program
  pid_t keeper_thread = 0;                 // whom the kernel tells that somebody wants to open a leased file
  std::array<char, 64> keeper_name = {};   // its socket, in the abstract name space
  std::atomic<std::uint32_t> over = 0;     // 1 = nothing is kept back any more
  std::atomic<std::uint32_t> keeping = 0;  // buffers that have a block
  std::atomic<std::uint64_t> kept_writes = 0;  // writes of programs that were kept back
  std::atomic<std::uint64_t> kept_bytes = 0;
  std::atomic<std::uint64_t> kept_flushes = 0;                 // writes that were made of them
  std::atomic<std::uint32_t> unwritten = 0;                    // 1 = a write of what was kept back failed
  std::atomic<std::uint32_t> unkept = 0;                       // bits of Unkept
  std::atomic<std::uint32_t> next_buffer = 0;                  // where to look for a free one
  std::atomic<std::uint32_t> moves_live = 0;                   // files that are elsewhere
  std::atomic<std::uint64_t> moves_made = 0;                   // ever
  std::atomic<std::uint64_t> made_elsewhere = 0;               // of those, new files
  std::atomic<std::uint32_t> moves_told = 0;                   // the keeper knows that some were closed
  std::atomic<std::uint32_t> pending_lock = 0;                 // of the index
  std::array<std::atomic<std::uint32_t>, 64> name_locks = {};  // pipeline/pending.h
  std::array<std::atomic<std::uint32_t>, 8> removers = {};     // pipeline/pending.h
  std::atomic<std::uint32_t> thread_execs = 0;                 // times that not the first thread did
  std::atomic<std::uint32_t> folders_unheld = 0;  // 1 = the keeper does not have all of them open
  std::atomic<std::uint32_t> keeps_small = 0;     // 1 = files may be in memory alone
  std::atomic<std::uint32_t> pending_live = 0;    // files that are not home
  std::atomic<std::uint32_t> pending_passes = 0;
  std::atomic<std::uint32_t> pending_blocks = 0;
  std::atomic<std::uint32_t> pending_hurry = 0;   // the keeper is to put down what is closed, now
  std::atomic<std::uint32_t> folder_changes = 0;  // times that some, or their access lists, were, in this run
  std::atomic<std::uint64_t> pending_made = 0;    // ever
  std::atomic<std::uint64_t> pending_dropped = 0;  // removed before they were put down
  std::atomic<std::uint64_t> pending_bytes = 0;    // of those that were put down
  std::atomic<std::uint64_t> fetches = 0;          // pieces that were fetched ahead of a program's reads
  std::atomic<std::uint64_t> fetched_bytes = 0;
  std::atomic<std::uint32_t> snapshots = 0;  // 1 = files are put back as they were synced
  std::atomic<std::uint32_t> paths_used = 0;
  std::atomic<std::uint32_t> processes = 0;  // that mapped it
  std::atomic<std::uint32_t> programs = 0;   // that were started, by whoever mapped it
  std::atomic<std::uint32_t> loaded = 0;     // of those, in which it was mapped
  std::atomic<std::uint64_t> unmanaged = 0;  // opens that passed no stage: too many files were open
  std::uint64_t root_device = 0;             // the folder that paths begin at, for the keeper
  std::uint64_t root_inode = 0;
  // Of each point, files that found no row, all in one.
  std::array<AreaFile, PointNames::most> others = {};

  [[nodiscard]] std::span<const AreaRule> all_rules() const;
  [[nodiscard]] std::span<const PatternToken> tokens_of(const AreaRule& rule) const;
  [[nodiscard]] std::string_view prefix_of(const AreaRule& rule) const;
  [[nodiscard]] std::string_view stages_of(const AreaRule& rule) const;
  // The first rule that matches, or none.
  [[nodiscard]] const AreaRule* rule_for(std::string_view path) const;

  [[nodiscard]] std::span<AreaFile> all_files();
  [[nodiscard]] std::string_view path_of(const AreaFile& file) const;
  // The row of a file at a point, made where it was not there; null where all are taken.
  AreaFile* file(std::string_view path, std::uint32_t point = 0);
  // One that is there already, of whatever point; null where there is none.
  AreaFile* known_file(std::string_view path);

  [[nodiscard]] std::span<AreaMove> all_moves() { return {at<AreaMove>(moves), moves == 0 ? 0 : area_moves}; }
  [[nodiscard]] std::span<AreaNaming> all_namings() {
    return {at<AreaNaming>(moves + area_moves * sizeof(AreaMove)), moves == 0 ? 0 : area_namings};
  }

  [[nodiscard]] std::span<std::atomic<std::uint32_t>> buckets() {
    return {at<std::atomic<std::uint32_t>>(pending), pending == 0 ? 0 : pending_buckets};
  }

  [[nodiscard]] std::span<Buffer> all_buffers() {
    return {at<Buffer>(buffers), buffers == 0 ? 0 : area_buffers};
  }
  // One that is nobody's, with a generation of its own; null where all are taken.
  Buffer* take_buffer(pid_t process, std::uint64_t started);
  // REQUIRES: its lock, and it has no block.
  static void give_back(Buffer& buffer);
  // The memory of a buffer. REQUIRES: it has a block.
  [[nodiscard]] BlockHead& head_of(const Buffer& buffer) { return *at<BlockHead>(block_of(buffer)); }
  [[nodiscard]] std::byte* bytes_of(const Buffer& buffer) {
    return at<std::byte>(block_of(buffer) + block_head_bytes);
  }
  // The number of one, and one, with memory for sure; 0 where there is none.
  std::uint32_t take_block();
  // So many that are free have memory, and none of its pages is new: whoever takes one does not wait for
  // that.
  void ready_blocks(std::uint32_t count);
  // Whether there is memory for one that has none.
  [[nodiscard]] bool give_memory(std::uint32_t index) const;
  // REQUIRES: it is nobody's any more.
  void free_block(std::uint32_t block) { block_states[block - 1].state.store(1, std::memory_order_release); }
  void note(Unkept why) {
    const auto bit = static_cast<std::uint32_t>(why);
    if ((unkept.load(std::memory_order_relaxed) & bit) == 0) [[unlikely]] {
      unkept.fetch_or(bit, std::memory_order_relaxed);
    }
  }
  // What is kept back is written now, by one write.
  void count_flush(const Buffer& buffer);
  // REQUIRES: its lock, and nothing is in it.
  void give_block_back(Buffer& buffer);

  // What is at an offset.
  template <class T>
  [[nodiscard]] T* at(std::uint64_t offset) {
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(this) + offset);
  }
  template <class T>
  [[nodiscard]] const T* at(std::uint64_t offset) const {
    return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(this) + offset);
  }

 private:
  [[nodiscard]] std::uint64_t block_of(const Buffer& buffer) const {
    return blocks + (buffer.block.load(std::memory_order_relaxed) - 1) * block_stride;
  }
};

// Of this process; null where there is none.
extern constinit std::atomic<Area*> area_of_process;
inline Area* this_area() {
  return area_of_process.load(std::memory_order_acquire);
}
inline void set_area(Area* area) {
  area_of_process.store(area, std::memory_order_release);
}
// Whether paths begin at another folder for this process (chroot), and mean something else to the keeper.
bool has_other_root(const Area& area);
// Calls a function for each file of the index that is not home, while nobody adds or finds one.
template <class Function>
void for_each_pending(Area& area, Function function) {
  const Locked locked = hold_lock(area.pending_lock);
  for (const std::atomic<std::uint32_t>& bucket : area.buckets()) {
    // No chain is longer than there are files.
    std::uint32_t steps = 0;
    for (Pending* file = pending_at(area, bucket); file != nullptr && steps < (1U << 24);
         file = pending_at(area, file->next), ++steps) {
      if (file->state != Pending::home && file->state != Pending::unused) {
        function(*file);
      }
    }
  }
  if (locked == Locked::yes) {
    let_go(area.pending_lock);
  }
}
// For a child that was forked in a signal's handler, while its parent was changing something under a lock:
// both would go on with it. From now on this process has a copy of its own, and keeps nothing back. Whoever
// waits for a change by somebody else looks whether it has parted: there is none in a copy.
void part_from_area();
bool has_parted();
// The same for a process that drops its user's rights for good: it can neither write nor read any more what
// the others share. A copy has counts and rules, and nothing that others keep back. Room for it is had before
// the rights go, null where there is none. REQUIRES: nothing is kept back by this process.
void* room_for_copy(const Area& area);
void give_room_back(const Area& area, void* room);
void leave_area(Area& area, void* room);
// A thread that starts another program ends all others, and has the number of the first one then: what that
// one had is ours, and nobody would give it back. Before this program does anything.
void let_go_of_inherited(Area& area);
std::uint64_t path_hash(std::string_view path);
// Whether that many bytes of memory are an area of this version, whole.
bool is_area(const void* memory, std::size_t bytes);

}  // namespace sluice

// What is recorded of a program's calls. Each thread writes records into a chunk of the run's shared memory,
// one after another; the parent takes them out (run/tracer.h), also when the program was killed.
//
// A chunk is one thread's from when it takes it until it is full or the thread is gone: nobody else writes to
// it, so a record takes no lock, and no system call as long as there is a free chunk. Where there is none,
// whoever needs one waits for the parent. A few chunks are for one record each: for threads where there are
// more of those than chunks, and for a signal's handler that comes while its thread writes a record.
#pragma once

#include <sys/types.h>
#include <time.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "pipeline/points.h"

namespace sluice {

// Of records alone; the others are those of enum sluice_operation.
enum TraceOperation : std::uint8_t {
  trace_process = 32  // the first record of a process: its program is the text, its parent the result
};

// One call.
struct TraceCall {
  std::uint64_t begin = 0;  // ticks()
  std::uint64_t end = 0;
  std::int64_t offset = 0;
  std::uint64_t length = 0;
  std::int64_t result = 0;  // or the negative errno
  std::int32_t flags = 0;
  std::uint32_t mode = 0;
  std::uint32_t file = 0;  // which open file of the run; 0 = none
  std::uint8_t operation = 0;
  std::uint8_t point = 0;  // where in the stack
};

// The same in a chunk. Most calls are told by this alone; a TraceRest follows where `result` says so, and
// `extra` bytes of text, padded to 8: a path, and each after a zero the other one and the site.
struct TraceRecord {
  enum Result : std::uint8_t { is_zero, is_length, is_offset, in_rest };
  std::uint64_t begin = 0;
  std::int64_t offset = 0;
  std::uint32_t duration = 0;
  std::uint32_t length = 0;
  std::uint32_t file = 0;
  std::uint8_t operation = 0;
  std::uint8_t point = 0;
  std::uint8_t result = is_zero;
  std::uint8_t padding = 0;
};
static_assert(sizeof(TraceRecord) == 32);
struct TraceRest {
  std::uint64_t end = 0;
  std::uint64_t length = 0;
  std::int64_t result = 0;
  std::int32_t flags = 0;
  std::uint32_t mode = 0;
  std::uint32_t extra = 0;
  std::uint32_t padding = 0;
};
static_assert(sizeof(TraceRest) == 40);

struct TraceChunk {
  enum State : std::uint32_t { unused, taken, full };  // by the thread that is noted
  std::atomic<std::uint32_t> state = unused;
  std::atomic<std::uint32_t> written = 0;  // bytes of whole records
  std::atomic<pid_t> process = 0;
  std::atomic<pid_t> thread = 0;
  std::uint64_t taken_out = 0;             // of `written`, by the parent
  std::atomic<std::uint64_t> turn = 0;     // rises from each chunk of a thread to its next; 0 = not said yet
  std::array<std::uint64_t, 4> padding{};  // the records have cache lines of their own
  static constexpr std::size_t bytes = std::size_t{16} * 1024;
  static constexpr std::size_t room = bytes - 64;
  std::array<std::byte, room> records;
};
static_assert(sizeof(TraceChunk) == TraceChunk::bytes);

struct alignas(4096) AreaTrace {
  static constexpr std::uint32_t spare_chunks = 8;    // the first ones, for one record each
  static constexpr std::uint32_t first_chunks = 128;  // that have memory when a run starts
  static constexpr std::uint32_t most_chunks = 1024;
  std::atomic<std::uint32_t> wake = 0;   // somebody waits, or chunks become few: the parent sleeps on it
  std::atomic<std::uint32_t> files = 0;  // open files so far
  std::atomic<std::uint32_t> over = 0;   // 1 = nobody takes records out any more
  std::atomic<std::uint64_t> lost = 0;   // records for which there was no chunk
  std::atomic<std::uint32_t> taken = 0;  // chunks, since the parent looked
  std::atomic<std::uint32_t> chunk_count = 0;  // that have memory; the parent gives more of them some
  std::atomic<std::uint32_t> grows = 0;        // 1 = it can
  std::uint32_t cycles = 0;                    // 1 = ticks are cycles, 0 = nanoseconds
  std::atomic<std::uint32_t> foreign = 0;  // 1 = of some processes the parent cannot tell whether they live
  std::uint32_t sites = 0;                 // 1 = who opens a file is told, too
  std::atomic<std::uint64_t> turns = 0;    // of chunks so far
  PointNames points;

  [[nodiscard]] std::span<TraceChunk> chunks() {
    return {reinterpret_cast<TraceChunk*>(this + 1), chunk_count.load(std::memory_order_acquire)};
  }
  [[nodiscard]] static constexpr std::size_t bytes(std::uint32_t chunks) {
    return sizeof(AreaTrace) + chunks * sizeof(TraceChunk);
  }
};
static_assert(sizeof(AreaTrace) == 4096);

// Of this run; null where nothing is traced.
AreaTrace* this_trace();

// A clock that costs next to nothing, the same for all processors; the parent knows how long a tick is.
inline std::uint64_t ticks(const AreaTrace& trace) {
#ifdef __x86_64__
  if (trace.cycles != 0) [[likely]] {
    return __rdtsc();
  }
#endif
  return static_cast<std::uint64_t>(nanoseconds_of(CLOCK_MONOTONIC));
}
// Whether this machine's cycles are such a clock.
bool can_count_cycles();

// What this thread writes to.
struct TraceOwn {
  TraceChunk* chunk = nullptr;
  bool busy = false;  // with a record; a signal's handler leaves the chunk alone then
};
__attribute__((tls_model("initial-exec"))) extern thread_local constinit TraceOwn trace_own;

// Notes a call of this thread; `text` and `other` are paths, `site` is who opened the first, or empty. Also
// from signal handlers.
void write_whole_trace(AreaTrace& trace, const TraceCall& call, std::string_view text = {},
                       std::string_view other = {}, std::string_view site = {});
// The same. Inlined: this is the way of most calls.
inline void write_trace(AreaTrace& trace, const TraceCall& call) {
  const std::uint64_t duration = call.end - call.begin;
  const auto result = static_cast<std::uint64_t>(call.result);
  const std::uint8_t how = result == call.length                               ? TraceRecord::is_length
                           : result == 0                                       ? TraceRecord::is_zero
                           : result == static_cast<std::uint64_t>(call.offset) ? TraceRecord::is_offset
                                                                               : TraceRecord::in_rest;
  TraceOwn& own = trace_own;
  if (how == TraceRecord::in_rest || (duration | call.length) >> 32U != 0 || call.flags != 0 ||
      call.mode != 0 || own.busy) [[unlikely]] {
    write_whole_trace(trace, call);
    return;
  }
  own.busy = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  TraceChunk* chunk = own.chunk;
  const std::uint32_t at =
      chunk == nullptr ? TraceChunk::room : chunk->written.load(std::memory_order_relaxed);
  if (at + sizeof(TraceRecord) > TraceChunk::room) [[unlikely]] {
    own.busy = false;
    write_whole_trace(trace, call);
    return;
  }
  const TraceRecord record{.begin = call.begin,
                           .offset = call.offset,
                           .duration = static_cast<std::uint32_t>(duration),
                           .length = static_cast<std::uint32_t>(call.length),
                           .file = call.file,
                           .operation = call.operation,
                           .point = call.point,
                           .result = how};
  std::memcpy(chunk->records.data() + at, &record, sizeof record);
  chunk->written.store(at + sizeof record, std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  own.busy = false;
}

// The next record in a chunk from `at` on, with its text, and how many bytes it takes; 0 where there is none
// whole in `size` bytes.
std::size_t read_trace(const std::byte* at, std::size_t size, TraceCall& call, std::string_view& text);

// Before another program takes the place of this one: its chunk is not needed any more.
void leave_trace();
// In a child of a fork: its parent's chunk is not its own.
void forget_trace();
// Before a jump out of a signal's handler, which may have come while a record was written.
inline void leave_trace_record() {
  if (trace_own.busy) [[unlikely]] {
    trace_own = {};  // the parent finds that chunk when the thread is gone
  }
}

}  // namespace sluice

#include "pipeline/tracing.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include <algorithm>
#include <cerrno>

#include "pipeline/area.h"
#include "pipeline/process.h"
#include "pipeline/tell.h"

namespace sluice {

thread_local constinit TraceOwn trace_own;

namespace {

constexpr std::size_t longest_text = 12288 + 2;  // three paths; a chunk has room for it
constexpr int looks_between = 64;                // at whether the parent lives, of who waits for it

std::atomic<pid_t> told_process = 0;  // which process has said who it is

void wake_parent(AreaTrace& trace) {
  if (trace.wake.exchange(1) == 0) {
    syscall(SYS_futex, &trace.wake, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
}

// The lowest that is free: it was in use lately.
TraceChunk* take_from(AreaTrace& trace, std::span<TraceChunk> chunks) {
  for (TraceChunk& chunk : chunks) {
    std::uint32_t state = TraceChunk::unused;
    if (chunk.state.load(std::memory_order_relaxed) == state &&
        chunk.state.compare_exchange_strong(state, TraceChunk::taken, std::memory_order_acquire)) {
      chunk.process.store(this_process().id, std::memory_order_relaxed);
      chunk.thread.store(this_thread(), std::memory_order_relaxed);
      // Now the parent knows whose it is.
      chunk.turn.store(trace.turns.fetch_add(1, std::memory_order_acq_rel) + 1, std::memory_order_release);
      // It sleeps for some time where nobody wakes it.
      if (trace.taken.fetch_add(1, std::memory_order_relaxed) > trace.chunk_count / 2) {
        wake_parent(trace);
      }
      return &chunk;
    }
  }
  return nullptr;
}

// For one record, where `once`: one of the spare ones then. Waits for it; null where nobody gives any back.
TraceChunk* take_chunk(AreaTrace& trace, bool& once) {
  const int saved = errno;
  TraceChunk* out = nullptr;
  for (int looks = 0; trace.over == 0; ++looks) {
    const std::span<TraceChunk> chunks = trace.chunks();
    if (!once && (out = take_from(trace, chunks.subspan(AreaTrace::spare_chunks))) != nullptr) {
      break;
    }
    if ((once || trace.grows == 0) &&
        (out = take_from(trace, chunks.first(AreaTrace::spare_chunks))) != nullptr) {
      once = true;
      break;
    }
    wake_parent(trace);
    const timespec nap{.tv_sec = 0, .tv_nsec = 50000};
    syscall(SYS_nanosleep, &nap, nullptr);
    if (looks % looks_between == looks_between - 1 && !keeper_lives(*this_area())) {
      trace.over = 1;
    }
  }
  errno = saved;
  return out;
}

// What a record has, one behind another with a zero between.
struct Texts {
  std::string_view path;
  std::string_view other;
  std::string_view site;

  [[nodiscard]] std::size_t size() const {
    return std::min(path.size() + (other.empty() && site.empty() ? 0 : 1 + other.size()) +
                        (site.empty() ? 0 : 1 + site.size()),
                    longest_text);
  }
  // REQUIRES: size() bytes of room.
  void print(char* to) const {
    char* const end = to + size();
    to += path.copy(to, size());
    for (const std::string_view one : {other, site}) {
      if (to < end) {
        *to++ = 0;
        to += one.copy(to, static_cast<std::size_t>(end - to));
      }
    }
  }
};
std::size_t bytes_for(std::size_t extra) {
  return sizeof(TraceRecord) + sizeof(TraceRest) + (extra + 7) / 8 * 8;
}

// REQUIRES: there is room.
void append(TraceChunk& chunk, const TraceCall& call, const Texts& texts) {
  const std::uint32_t at = chunk.written.load(std::memory_order_relaxed);
  const std::size_t extra = texts.size();
  const TraceRecord record{.begin = call.begin,
                           .offset = call.offset,
                           .file = call.file,
                           .operation = call.operation,
                           .point = call.point,
                           .result = TraceRecord::in_rest};
  const TraceRest rest{.end = call.end,
                       .length = call.length,
                       .result = call.result,
                       .flags = call.flags,
                       .mode = call.mode,
                       .extra = static_cast<std::uint32_t>(extra)};
  std::byte* to = chunk.records.data() + at;
  std::memcpy(to, &record, sizeof record);
  std::memcpy(to + sizeof record, &rest, sizeof rest);
  texts.print(reinterpret_cast<char*>(to + sizeof record + sizeof rest));
  chunk.written.store(at + static_cast<std::uint32_t>(bytes_for(extra)), std::memory_order_release);
}

// Who this process is, in its first chunk.
void tell_process(AreaTrace& trace, TraceChunk& chunk) {
  const int saved = errno;
  char program[1024];
  const long length = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program, sizeof program);
  TraceCall call;
  call.operation = trace_process;
  call.begin = call.end = ticks(trace);
  call.result = syscall(SYS_getppid);
  append(chunk, call,
         {.path = {program, static_cast<std::size_t>(std::max(length, 0L))}, .other = {}, .site = {}});
  errno = saved;
}

// One that has room for a record, begun by telling who writes it; null where there is none.
TraceChunk* begin_chunk(AreaTrace& trace, bool& once) {
  pid_t before = told_process.load(std::memory_order_relaxed);
  const pid_t id = this_process().id;
  const bool first = before != id && told_process.compare_exchange_strong(before, id);
  // Before the parent can see a number that means nothing to it.
  if (first && this_area()->process_space != process_space()) {
    trace.foreign.store(1, std::memory_order_relaxed);
  }
  TraceChunk* out = take_chunk(trace, once);
  if (out != nullptr && first) {
    tell_process(trace, *out);
  }
  return out;
}

}  // namespace

AreaTrace* this_trace() {
  Area* area = this_area();
  return area == nullptr || area->trace == 0 ? nullptr : area->at<AreaTrace>(area->trace);
}

bool can_count_cycles() {
#ifdef __x86_64__
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
#else
  return false;
#endif
}

void write_whole_trace(AreaTrace& trace, const TraceCall& call, std::string_view text, std::string_view other,
                       std::string_view site) {
  const Texts texts{.path = text, .other = other, .site = site};
  TraceOwn& own = trace_own;
  bool once = own.busy;  // a signal's handler has come into a record
  own.busy = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const bool interrupts = once;
  TraceChunk* chunk = once ? nullptr : own.chunk;
  if (chunk != nullptr && chunk->written.load(std::memory_order_relaxed) + bytes_for(texts.size()) >
                              TraceChunk::room) [[unlikely]] {
    chunk->state.store(TraceChunk::full, std::memory_order_release);
    chunk = own.chunk = nullptr;
  }
  if (chunk == nullptr) [[unlikely]] {
    chunk = begin_chunk(trace, once);
    own.chunk = once ? own.chunk : chunk;
  }
  if (chunk == nullptr) [[unlikely]] {
    trace.lost.fetch_add(1, std::memory_order_relaxed);
  } else {
    append(*chunk, call, texts);
    if (once) {
      chunk->state.store(TraceChunk::full, std::memory_order_release);
    }
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  own.busy = interrupts;
}

std::size_t read_trace(const std::byte* at, std::size_t size, TraceCall& call, std::string_view& text) {
  TraceRecord record;
  TraceRest rest;
  if (size < sizeof record) {
    return 0;
  }
  std::memcpy(&record, at, sizeof record);
  call.begin = record.begin;
  call.offset = record.offset;
  call.file = record.file;
  call.operation = record.operation;
  call.point = record.point;
  if (record.result != TraceRecord::in_rest) {
    call.end = record.begin + record.duration;
    call.length = record.length;
    call.result = record.result == TraceRecord::is_length   ? record.length
                  : record.result == TraceRecord::is_offset ? record.offset
                                                            : 0;
    call.flags = 0;
    call.mode = 0;
    text = {};
    return sizeof record;
  }
  if (size < sizeof record + sizeof rest) {
    return 0;
  }
  std::memcpy(&rest, at + sizeof record, sizeof rest);
  call.end = rest.end;
  call.length = rest.length;
  call.result = rest.result;
  call.flags = rest.flags;
  call.mode = rest.mode;
  text = {reinterpret_cast<const char*>(at + sizeof record + sizeof rest), rest.extra};
  return bytes_for(rest.extra) <= size ? bytes_for(rest.extra) : 0;
}

void leave_trace() {
  TraceOwn& own = trace_own;
  if (own.chunk != nullptr && !own.busy) {
    own.chunk->state.store(TraceChunk::full, std::memory_order_release);
    own.chunk = nullptr;
  }
}

void forget_trace() {
  trace_own = {};
}

}  // namespace sluice

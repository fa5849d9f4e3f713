// What a replay is to do, in memory that its processes share with the one that reads the trace. Each thread
// of the trace is a strand: a list of chunks of steps. Chunks come from a pool, so that a trace of any length
// needs the same memory: whoever has done all of one gives it back.
//
// One process feeds (feed.h), each strand is run by one thread (worker.h). Nobody waits for a step that is
// not there yet but for its own, so the feeder may wait for chunks: what is there can be done.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "trace/event.h"

namespace sluice {

struct Step {
  enum Kind : std::uint8_t {
    // Below these: as TraceEvent has them.
    spawn_thread = 64,  // `other` is the strand
    spawn_process,      // likewise
    wait,               // for `index` operations of strand `other`
    nothing,            // an operation that is not done again
    reopen,             // a file that was open when the program started: of slot `other`, or by its path
    pad,                // the chunk has no more of them
    end                 // of the strand
  };
  std::uint8_t kind = 0;
  std::uint8_t latest = 0;  // wait: that is what ended last of all that the next operation came after
  std::uint16_t text = 0;   // bytes of a path, in the steps that follow
  std::uint32_t slot = 0;   // of the open file
  std::int32_t flags = 0;
  std::uint32_t other = 0;  // or the mode of an open
  std::uint64_t length = 0;
  std::int64_t offset = 0;
  std::int64_t result = 0;  // or the operations that are waited for
  std::int64_t think = 0;   // nanoseconds after what it came after
};
static_assert(sizeof(Step) == 48);

inline constexpr std::uint32_t no_slot = ~0U;
inline constexpr std::uint32_t most_slots = 1U << 20U;  // files that a process may have open

struct StepChunk {
  static constexpr std::size_t bytes = 8192;
  static constexpr std::uint32_t room = (bytes - 16) / sizeof(Step);
  std::atomic<std::uint32_t> written = 0;  // steps; whoever needs more sleeps on it
  std::atomic<std::uint32_t> next = 0;  // chunk of the strand, counted from 1; in the pool: the next free one
  std::atomic<std::uint32_t> starving = 0;
  std::uint32_t padding = 0;
  std::array<Step, room> steps;
};
static_assert(sizeof(StepChunk) <= StepChunk::bytes);
// The longest path that fits.
inline constexpr std::size_t longest_name = (StepChunk::room - 1) * sizeof(Step) - 1;

struct alignas(64) StrandState {
  // Whoever waits for so many says so in `wake_at`, having looked at `woken`, and sleeps on that: nobody is
  // woken for each operation.
  static constexpr std::uint32_t nobody = ~0U;
  std::atomic<std::uint32_t> done = 0;  // operations, and the end
  std::atomic<std::uint32_t> wake_at = nobody;
  std::atomic<std::uint32_t> woken = 0;
  std::atomic<std::int64_t> ended = 0;   // when the last of them was done, as the pace has it
  std::atomic<std::uint32_t> first = 0;  // chunk, counted from 1
};

struct OperationCount {
  std::atomic<std::uint64_t> calls = 0;
  std::atomic<std::uint64_t> differed = 0;
  std::atomic<std::uint64_t> nanoseconds = 0;
};

struct Difference {
  std::atomic<std::uint32_t> is_there = 0;
  std::uint32_t strand = 0;
  std::uint8_t operation = 0;
  std::int64_t expected = 0;
  std::int64_t result = 0;
  std::array<char, 256> name = {};  // of an open
};

struct Script {
  enum Stop : std::uint32_t {
    going,
    asked,  // by the feeder
    no_process,
    no_thread,
    no_room,
    no_descriptor,
    died  // one of the processes
  };
  static constexpr std::uint32_t most_operations = 32;
  static constexpr std::uint32_t most_differences = 5;

  std::int32_t feeder = 0;  // its process
  std::uint32_t strands = 0;
  std::uint32_t chunks = 0;
  std::uint32_t staged = 0;  // 1 = calls pass stages, whose errors are no reason to stop
  double factor = 1;         // of the pace; 0 = no time between operations
  std::atomic<std::uint32_t> ready = 0;
  std::atomic<std::uint32_t> go = 0;
  std::atomic<std::uint32_t> stop = 0;
  std::atomic<std::int32_t> stop_number = 0;  // errno, or the signal
  std::atomic<std::uint32_t> free = 0;        // chunks given back, the first, counted from 1
  std::atomic<std::uint32_t> hungry = 0;      // the feeder sleeps on it
  std::atomic<std::int32_t> spinning = 0;     // strands that wait for their time without sleeping
  std::atomic<std::int64_t> began = 0;
  std::atomic<std::int64_t> ended = 0;
  std::atomic<std::uint64_t> done = 0;  // operations, nearly
  std::atomic<std::int64_t> late = 0;   // nanoseconds, of all
  std::array<OperationCount, most_operations> counts;
  std::array<Difference, most_differences> differences;

  [[nodiscard]] static std::size_t bytes(std::uint32_t strands, std::uint32_t chunks) {
    return first_chunk(strands) + chunks * StepChunk::bytes;
  }
  [[nodiscard]] StrandState& strand(std::uint32_t number) {
    return reinterpret_cast<StrandState*>(reinterpret_cast<std::byte*>(this) + head_bytes)[number];
  }
  // REQUIRES: number > 0
  [[nodiscard]] StepChunk& chunk(std::uint32_t number) {
    return *reinterpret_cast<StepChunk*>(reinterpret_cast<std::byte*>(this) + first_chunk(strands) +
                                         (number - 1) * StepChunk::bytes);
  }

 private:
  static constexpr std::size_t head_bytes = 8192;
  [[nodiscard]] static std::size_t first_chunk(std::uint32_t strands) {
    return (head_bytes + strands * sizeof(StrandState) + 4095) / 4096 * 4096;
  }
};
static_assert(sizeof(Script) <= 8192);

}  // namespace sluice

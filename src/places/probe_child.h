// The half of the probe that runs in forked children: memory shared with the parent, and the system calls.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "places/machine.h"

namespace sluice {

constexpr std::size_t most_probe_folders = 8;

enum class ProbeStage : std::uint32_t { untaken, taken, answered };

// Written by the one child that took it, read by the parent once `stage` says answered.
struct ProbeSlot {
  std::atomic<ProbeStage> stage;
  std::atomic<std::int32_t> taker;  // pid
  std::int32_t fault;               // errno of what kept us out, 0 = reached
  bool is_folder;
  bool read_only;
  bool writable;
  bool has_uuid;
  std::uint64_t transfer, block, blocks, available;
  unsigned char uuid[16];
  struct Limit {
    bool known;
    std::uint32_t id;
    std::uint64_t limit, used;
  } limits[3];          // user, group, project
  std::int32_t usable;  // index of the first writable folder + 1
  // Comes after `answered`, by any child, and may be missing.
  std::atomic<bool> device_taken;
  std::atomic<bool> has_text_uuid;
  char text_uuid[48];
};

// Lies in memory shared with the parent, before the slots.
struct ProbeBoard {
  std::atomic<std::uint32_t> next;      // the first slot nobody took
  std::atomic<std::uint32_t> answered;  // how many slots are
  std::atomic<std::uint32_t> ended;     // a futex: how many children have nothing left to do
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
              std::atomic<std::int32_t>::is_always_lock_free);

// Takes slots until none is left. REQUIRES: runs in a forked child that ends by _exit. Calls only what is
// safe after fork in a process with threads; reading superblocks (libblkid allocates memory) comes last, when
// every mount has been answered for.
void run_probe_child(ProbeBoard& board, std::span<ProbeSlot> slots, std::span<const Question> questions);

}  // namespace sluice

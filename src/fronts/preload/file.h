// Open files that have a stack of stages, by descriptor. A file is an open file description: descriptors that
// were duplicated share it.
//
// Any thread, also signal handlers: nothing here allocates or locks.
#pragma once

#include <atomic>
#include <cstddef>

#include "fronts/preload/real.h"
#include "pipeline/stack.h"

namespace sluice::preload {

inline constexpr std::size_t longest_path = 4096;
inline constexpr unsigned most_descriptors = 65536;  // those above are not managed

struct File {
  std::atomic<unsigned> descriptors = 0;
  const Stack* stack = nullptr;
  int flags = 0;
  FileStates states = {};
  char path[longest_path] = {};
};

extern constinit std::atomic<File*> files[most_descriptors];

// The file of a descriptor whose stack wants that operation; null for all others.
inline File* managed(int fd, sluice_operation operation) {
  if (static_cast<unsigned>(fd) >= most_descriptors) {
    return nullptr;
  }
  File* file = files[fd].load(std::memory_order_acquire);
  return file != nullptr && file->stack->wants(operation) ? file : nullptr;
}

// Passes an activity through the stack; sets errno where it failed.
std::int64_t act(File& file, sluice_activity& activity);
std::int64_t act(File& file, sluice_operation operation, int fd, void* data, std::size_t length,
                 std::int64_t offset, int flags = 0);

// A read or write that something else than a call of its kind performs.
using Perform = ssize_t (*)(void* context);
std::int64_t act(File& file, sluice_operation operation, int fd, std::size_t length, std::int64_t offset,
                 Perform perform, void* context);

// A new one for an open of this path; null where no stack is for it. `path` is as the program gave it.
File* begin(int folder, const char* path, int flags);
// It has its first descriptor; or it has none, and is given back.
void attach(File& file, int fd);
void abandon(File& file);
// Another descriptor of the same file, or of none.
void share(int fd, int other);
// A descriptor is gone, or is about to be: the last one's file too. Null where others are left.
File* detach(int fd);
// The same where the kernel closes it by itself.
void forget(int fd);
// All in a range.
void forget(unsigned first, unsigned last);

// Whether there is anything to do at all in this process.
bool is_active();
// Reads what the run wants; called once.
void start();

}  // namespace sluice::preload

// Stages in their order, and the calls below them. Needs nothing but libc, allocates nothing and takes no
// lock.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sluice/stage.h"

namespace sluice {

inline constexpr std::size_t most_stages = 8;
inline constexpr std::size_t most_stacks = 64;  // of a run, that differ

// What the last one performs activities with; each behaves as the system call of its name, errno included.
struct Calls {
  int (*openat)(int, const char*, int, mode_t);
  int (*close)(int);
  ssize_t (*read)(int, void*, std::size_t);
  ssize_t (*pread)(int, void*, std::size_t, off_t);
  ssize_t (*write)(int, const void*, std::size_t);
  ssize_t (*pwrite)(int, const void*, std::size_t, off_t);
  off_t (*lseek)(int, off_t, int);
  int (*fsync)(int);
  int (*fdatasync)(int);
  int (*ftruncate)(int, off_t);
  int (*fallocate)(int, int, off_t, off_t);
  int (*change_names)();  // as whoever began the activity knows; null in all others
};

// Whether an address can be a program's memory at all: what is surely none is left to the kernel, which says
// EFAULT.
inline bool is_memory(const void* data, std::size_t length) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  return address >= 65536 && length < (std::uintptr_t{1} << 47) &&
         address + length <= (std::uintptr_t{1} << 47);
}

// What the stages remember of one open file.
using FileStates = std::array<void*, most_stages>;

class Stack {
 public:
  // Whether anything above the calls wants to see it.
  [[nodiscard]] bool wants(sluice_operation operation) const {
    return (operations_ & SLUICE_BIT(operation)) != 0;
  }
  // The same of the one that was added last.
  [[nodiscard]] bool last_wants(sluice_operation operation) const {
    return (members_[count_ - 1].operations & SLUICE_BIT(operation)) != 0;
  }
  // Adds one below those that are there: "NAME" or "NAME:PARAMETERS", of those that are known or the path of
  // a library, which has a '/'. False where it cannot be, with the reason in `error`.
  bool add(std::string_view spec, std::span<const sluice_stage* const> known, std::span<char> error);
  [[nodiscard]] std::size_t size() const { return count_; }
  // Whether any of them changes reads or writes, and so needs to see all bytes.
  [[nodiscard]] bool needs_data() const { return needs_data_; }
  // Whether any of them may open something else.
  [[nodiscard]] bool changes_opens() const { return changes_opens_; }
  // Whether it knows of files in parts.
  [[nodiscard]] bool combines() const { return combines_; }
  // The same of those that cannot be told to settle: no byte may ever go around them.
  [[nodiscard]] bool interferes() const { return interferes_; }
  // Whether any of them came from a library.
  [[nodiscard]] bool is_foreign() const { return foreign_; }
  // Whether a file must not be opened without it: it is to be kept from the file, or to do what nobody knows.
  [[nodiscard]] bool is_indispensable() const { return foreign_ || broken_; }

  // Sets result and error; returns the result.
  std::int64_t act(const Calls& calls, FileStates& states, sluice_activity& activity) const {
    return act_from(calls, states, 0, activity);
  }

 private:
  struct Below;
  struct Member {
    const sluice_stage* stage = nullptr;
    void* state = nullptr;
    std::uint32_t operations = 0;  // that it wants
  };
  static std::int64_t pass_on(const sluice_next* next, sluice_activity* activity);
  // The last one: by the calls below.
  static std::int64_t perform(const Calls& calls, sluice_activity& activity);
  std::int64_t act_from(const Calls& calls, FileStates& states, std::size_t index,
                        sluice_activity& activity) const;

  std::array<Member, most_stages> members_;
  std::size_t count_ = 0;
  std::uint32_t operations_ = 0;
  bool needs_data_ = false;
  bool changes_opens_ = false;
  bool combines_ = false;
  bool interferes_ = false;
  bool foreign_ = false;
  bool broken_ = false;
};

struct Stack::Below : sluice_next {
  const Stack& stack;
  const Calls& calls;
  FileStates& states;
  std::size_t index;  // of the member that comes next
};

// From one member on. Inlined where it is called: this is the way of every call.
__attribute__((always_inline)) inline std::int64_t Stack::act_from(const Calls& calls, FileStates& states,
                                                                   std::size_t index,
                                                                   sluice_activity& activity) const {
  for (std::size_t i = index; i < count_; ++i) {
    const auto& [stage, state, operations] = members_[i];
    if ((operations & SLUICE_BIT(activity.operation)) == 0) {
      continue;
    }
    const Below below{{.act = pass_on}, *this, calls, states, i + 1};
    if (stage->aside != 0) {
      pass_on(&below, &activity);
      sluice_activity copy = activity;
      stage->act(state, &states[i], &copy, nullptr);
    } else {
      activity.result = stage->act(state, &states[i], &activity, &below);
    }
    return activity.result;
  }
  return perform(calls, activity);
}

// The operation's name: "open", "read"...
std::string_view print(sluice_operation operation);

}  // namespace sluice

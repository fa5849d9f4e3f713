// Room for a path. Not on the stack: a signal's handler may have one of its own with little more than the
// kernel itself needs (8 KiB), and several of these would be on it at a time.
//
// Any thread, also signal handlers.
#pragma once

#include <cstddef>

namespace sluice {

class PathRoom {
 public:
  static constexpr std::size_t size = 4096;
  struct Memory {
    char text[size];
  };

  PathRoom();
  ~PathRoom();
  PathRoom(const PathRoom&) = delete;
  PathRoom& operator=(const PathRoom&) = delete;

  // False where there is no memory.
  explicit operator bool() const { return memory_ != nullptr; }
  // As whoever had it before left it. REQUIRES: there is memory.
  [[nodiscard]] char (&text() const)[size] { return memory_->text; }

 private:
  Memory* memory_ = nullptr;
  bool mapped_ = false;
};

}  // namespace sluice

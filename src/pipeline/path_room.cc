#include "pipeline/path_room.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "pipeline/pool.h"

namespace sluice {
namespace {

Pool<PathRoom::Memory, 64> rooms;

}  // namespace

PathRoom::PathRoom() : memory_(rooms.take()) {
  if (memory_ != nullptr) [[likely]] {
    return;
  }
  const int saved = errno;
  const long memory =
      syscall(SYS_mmap, nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  errno = saved;
  mapped_ = memory != -1;
  memory_ = mapped_ ? reinterpret_cast<Memory*>(memory) : nullptr;
}

PathRoom::~PathRoom() {
  if (mapped_) {
    syscall(SYS_munmap, memory_, sizeof(Memory));
  } else if (memory_ != nullptr) {
    rooms.give_back(memory_);
  }
}

}  // namespace sluice

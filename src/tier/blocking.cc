#include "tier/blocking.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace sluice::tier {
namespace {

constexpr std::size_t most_at_once = 1 << 20;

struct Pending {
  unsigned open = 0;
  int error = 0;
};

void finished(Io& io) {
  auto& pending = *static_cast<Pending*>(io.owner);
  --pending.open;
  if (io.error != 0 && pending.error == 0) {
    pending.error = io.error;
  }
  io.owner = nullptr;
}

const char* verb(Op op) {
  switch (op) {
    case Op::read:
      return "cannot read";
    case Op::write:
      return "cannot write";
    case Op::zero:
      return "cannot zero";
    case Op::flush:
      break;
  }
  return "cannot flush";
}

}  // namespace

Buffer::Buffer(std::size_t size) : size_(size) {
  void* const found = mmap(nullptr, std::max<std::size_t>(size, 1), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (found == MAP_FAILED) {
    throw std::bad_alloc();
  }
  data_ = static_cast<std::byte*>(found);
}

Buffer::~Buffer() {
  if (data_ != nullptr) {
    munmap(data_, std::max<std::size_t>(size_, 1));
  }
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Status transfer(Device& device, Op op, std::uint64_t offset, std::span<std::byte> data) {
  std::array<Io, 8> ios{};
  Pending pending;
  std::size_t sent = 0;
  while (true) {
    for (Io& io : ios) {
      if (io.owner == nullptr && sent < data.size() && pending.error == 0) {
        io = Io{};
        io.op = op;
        io.offset = offset + sent;
        io.length = std::min(most_at_once, data.size() - sent);
        io.data = data.data() + sent;
        io.done = finished;
        io.owner = &pending;
        sent += io.length;
        ++pending.open;
        device.submit(io);
      }
    }
    if (pending.open == 0) {
      break;
    }
    device.kick();
    device.poll();
    if (pending.open == ios.size() || (pending.open > 0 && sent == data.size())) {
      device.wait();
      device.poll();
    }
  }
  return pending.error == 0 ? Status() : fail(pending.error, verb(op));
}

Status flush(Device& device) {
  Pending pending{.open = 1};
  Io io;
  io.op = Op::flush;
  io.done = finished;
  io.owner = &pending;
  device.submit(io);
  device.kick();
  device.poll();
  while (pending.open > 0) {
    device.wait();
    device.poll();
  }
  return pending.error == 0 ? Status() : fail(pending.error, verb(Op::flush));
}

}  // namespace sluice::tier

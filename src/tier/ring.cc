#include "tier/ring.h"

#include <fcntl.h>
#include <linux/falloc.h>

#include <algorithm>
#include <cerrno>

#include "tier/blocking.h"

namespace sluice::tier {
namespace {

constexpr std::uint64_t zeros_size = 1 << 20;

// Locked with the rest of the process, so it takes no memory later.
std::byte* zeros() {
  static const Buffer out(zeros_size);
  return out.data();
}

}  // namespace

Result<std::unique_ptr<Ring>> Ring::create() {
  zeros();
  std::unique_ptr<Ring> out(new Ring());
  io_uring_params parameters{};
  parameters.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
  parameters.cq_entries = 4 * entries;
  if (const int error = io_uring_queue_init_params(entries, &out->ring_, &parameters); error < 0) {
    return fail(-error, "cannot set up io_uring", Origin::here());
  }
  out->open_ = true;
  for (Slot& slot : out->slots_) {
    slot.next = out->free_;
    out->free_ = &slot;
  }
  return out;
}

Ring::~Ring() {
  if (open_) {
    io_uring_queue_exit(&ring_);
  }
}

bool Ring::submit(Target& target, Io& io) {
  if (free_ == nullptr) {
    return false;
  }
  Slot& slot = *free_;
  free_ = slot.next;
  slot.io = &io;
  slot.target = &target;
  slot.done = 0;
  ++under_way_;
  prepare(slot);
  return true;
}

void Ring::prepare(Slot& slot) {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  if (entry == nullptr) {
    kick();
    entry = io_uring_get_sqe(&ring_);
  }
  const Io& io = *slot.io;
  const int fd = slot.target->fd;
  const std::uint64_t offset = io.offset + slot.done;
  const std::uint64_t length = io.length - slot.done;
  // The kernel's lengths of reads and writes are 32 bits.
  const auto size = static_cast<unsigned>(std::min<std::uint64_t>(length, 1 << 30));
  switch (io.op) {
    case Op::read:
      io_uring_prep_read(entry, fd, io.data + slot.done, size, offset);
      break;
    case Op::write:
      io_uring_prep_write(entry, fd, io.data + slot.done, size, offset);
      break;
    case Op::flush:
      io_uring_prep_fsync(entry, fd, IORING_FSYNC_DATASYNC);
      break;
    case Op::zero:
      if (slot.target->zeroing == Zeroing::write) {
        io_uring_prep_write(entry, fd, zeros(), static_cast<unsigned>(std::min(length, zeros_size)), offset);
      } else {
        const bool punch = slot.target->zeroing == Zeroing::punch_hole;
        io_uring_prep_fallocate(entry, fd,
                                FALLOC_FL_KEEP_SIZE | (punch ? FALLOC_FL_PUNCH_HOLE : FALLOC_FL_ZERO_RANGE),
                                static_cast<off_t>(offset), static_cast<off_t>(length));
      }
      break;
  }
  io_uring_sqe_set_data(entry, &slot);
}

void Ring::kick() {
  if (io_uring_sq_ready(&ring_) > 0) {
    ++system_calls_;
    io_uring_submit(&ring_);
  }
}

void Ring::complete(Slot& slot, int result) {
  Io& io = *slot.io;
  if (result == -EINTR || result == -EAGAIN) {
    prepare(slot);
    return;
  }
  const bool transfers = io.op == Op::read || io.op == Op::write ||
                         (io.op == Op::zero && slot.target->zeroing == Zeroing::write);
  if (io.op == Op::zero && (result == -EOPNOTSUPP || result == -EINVAL) &&
      slot.target->zeroing != Zeroing::write) {
    slot.target->zeroing = slot.target->zeroing == Zeroing::zero_range ? Zeroing::punch_hole : Zeroing::write;
    prepare(slot);
    return;
  }
  if (transfers && result > 0) {
    slot.done += static_cast<std::uint64_t>(result);
    if (slot.done < io.length) {
      prepare(slot);
      return;
    }
  }
  // A read that ends before its time has met the end of a file that was cut short.
  io.error = result < 0 ? -result : transfers && slot.done < io.length ? EIO : 0;
  slot.next = free_;
  free_ = &slot;
  --under_way_;
  io.done(io);
}

void Ring::poll() {
  io_uring_cqe* entry = nullptr;
  while (io_uring_peek_cqe(&ring_, &entry) == 0) {
    Slot& slot = *static_cast<Slot*>(io_uring_cqe_get_data(entry));
    const int result = entry->res;
    io_uring_cqe_seen(&ring_, entry);
    complete(slot, result);
  }
}

void Ring::wait() {
  if (under_way_ > 0) {
    io_uring_cqe* entry = nullptr;
    ++system_calls_;
    io_uring_submit(&ring_);
    io_uring_wait_cqe(&ring_, &entry);
  }
}

}  // namespace sluice::tier

#include <liburing.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>

#include "base/clock.h"
#include "profile/probes.h"

namespace sluice {
namespace {

constexpr unsigned deepest = 256;
constexpr double worth_it = 1.05;     // deeper is better by this factor, or not better
constexpr double longest_wait = 0.3;  // seconds that the last requests may take
constexpr std::uint64_t first_writes = 16;

class Ring {
 public:
  Ring() = default;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    if (open_) {
      io_uring_queue_exit(&ring_);
    }
  }
  Status open() {
    const int status = io_uring_queue_init(deepest, &ring_, 0);
    if (status < 0) {
      return fail(-status, "cannot set up io_uring");
    }
    open_ = true;
    return {};
  }
  io_uring* get() { return &ring_; }

 private:
  io_uring ring_ = {};
  bool open_ = false;
};

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Buffers = std::unique_ptr<std::byte[], Free>;

class Sweep {
 public:
  Sweep(const Bench& bench, Ring& ring, std::byte* buffers)
      : bench_(bench),
        ring_(ring),
        buffers_(buffers),
        random_(bench.seed),
        size_(small_request(bench.file)) {}

  // Requests a second with `depth` under way, at most so many. Writes count when they are on the medium: a
  // device's own cache would take thousands at once, and minutes to put them down.
  Result<double> run(bool write, unsigned depth, double seconds, std::uint64_t most) {
    const double start = steady_seconds();
    double now = start;
    std::uint64_t done = 0;
    unsigned under_way = 0;
    for (; under_way < depth; ++under_way) {
      prepare(write, under_way);
    }
    while (under_way > 0) {
      if (const int status = io_uring_submit_and_wait(ring_.get(), 1); status < 0 && status != -EINTR) {
        return fail(-status, "cannot make requests by io_uring");
      }
      now = steady_seconds();
      io_uring_cqe* completion = nullptr;
      while (io_uring_peek_cqe(ring_.get(), &completion) == 0) {
        const int result = completion->res;
        const auto slot = static_cast<unsigned>(io_uring_cqe_get_data64(completion));
        io_uring_cqe_seen(ring_.get(), completion);
        --under_way;
        if (result < 0) {
          drain(under_way);
          return bench_.file.trouble(-result, write);
        }
        ++done;
        bench_.counted.requests += 1;
        if (now - start < seconds && done + under_way < most) {
          prepare(write, slot);
          ++under_way;
        }
      }
    }
    if (write) {
      SLUICE_TRY(const double flush, bench_.file.sync(true));
      now += flush;
    }
    return static_cast<double>(done) / std::max(now - start, 1e-9);
  }

 private:
  void prepare(bool write, unsigned slot) {
    io_uring_sqe* request = io_uring_get_sqe(ring_.get());
    const std::uint64_t offset = random_() % (bench_.file.size() / size_) * size_;
    std::byte* buffer = buffers_ + slot * size_;
    if (write) {
      io_uring_prep_write(request, bench_.file.fd(), buffer, static_cast<unsigned>(size_), offset);
    } else {
      io_uring_prep_read(request, bench_.file.fd(), buffer, static_cast<unsigned>(size_), offset);
    }
    io_uring_sqe_set_data64(request, slot);
  }

  // The kernel may still write into the buffers.
  void drain(unsigned under_way) {
    for (; under_way > 0; --under_way) {
      io_uring_cqe* completion = nullptr;
      if (io_uring_wait_cqe(ring_.get(), &completion) != 0) {
        return;
      }
      io_uring_cqe_seen(ring_.get(), completion);
    }
  }

  const Bench& bench_;
  Ring& ring_;
  std::byte* buffers_;
  std::mt19937_64 random_;
  std::uint64_t size_;
};

}  // namespace

std::uint64_t small_request(const WorkFile& file) {
  return std::max<std::uint64_t>(4096, file.alignment());
}

Result<std::vector<Depth>> sweep_depths(const Bench& bench, double seconds) {
  const std::uint64_t size = small_request(bench.file);
  const Buffers buffers(static_cast<std::byte*>(std::aligned_alloc(size, size * deepest)));
  if (!buffers) {
    return fail(ENOMEM, "no memory for requests");
  }
  std::fill_n(buffers.get(), size * deepest, std::byte{0x5a});
  Ring ring;
  SLUICE_CHECK(ring.open());
  Sweep sweep(bench, ring, buffers.get());
  std::vector<Depth> out;
  const double start = steady_seconds();
  constexpr double steps = 9;  // 1, 2, 4, ... 256
  for (const bool write : {false, true}) {
    double best = 0;
    int in_vain = 0;
    const double slice = std::clamp(seconds / steps / 2, 0.02, 0.5);
    double first = 0;
    if (write) {  // how many can be put down in the time
      SLUICE_TRY(first, sweep.run(true, 1, slice, first_writes));
    }
    for (unsigned depth = 1; depth <= deepest && in_vain < 2; depth *= 2) {
      if (depth > 1 && (steady_seconds() - start > seconds * (write ? 1 : 0.5) ||
                        static_cast<double>(depth) > best * longest_wait)) {
        break;
      }
      const auto most =
          write ? static_cast<std::uint64_t>(2 * std::max(first, best) * slice) + std::uint64_t{2} * depth
                : UINT64_MAX;
      SLUICE_TRY(const double iops, sweep.run(write, depth, slice, most));
      out.push_back({.write = write, .depth = depth, .iops = iops});
      in_vain = iops > best * worth_it ? 0 : in_vain + 1;
      best = std::max(best, iops);
    }
  }
  return out;
}

}  // namespace sluice

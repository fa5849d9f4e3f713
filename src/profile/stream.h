// One stream of requests of one kind, as a program would make them.
//
// Reads, and random writes, go to a file that is there; sequential writes past the page cache overwrite it,
// those through it are appended to a new file. One thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <random>
#include <vector>

#include "profile/access.h"
#include "profile/workfile.h"

namespace sluice {

// How much was asked for, by all streams.
struct Counted {
  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::uint64_t> read = 0;  // bytes
  std::atomic<std::uint64_t> written = 0;
};

class Stream {
 public:
  // `fresh` takes what is appended, up to `most` bytes. `begin` is where sequential requests start.
  // REQUIRES: all three outlive it.
  Stream(WorkFile& file, WorkFile& fresh, std::uint64_t most, std::uint64_t begin, std::uint64_t seed,
         Counted& counted)
      : file_(file), fresh_(fresh), most_(most), position_(begin), random_(seed), counted_(counted) {}

  // Brings device and page cache to where a sequence of such requests begins.
  Status prepare(const Access& access);
  // One request; its seconds, with its own flush where it is synced. A gap is left after sequential ones.
  Result<double> request(const Access& access, std::uint64_t size, std::uint64_t gap = 0);
  // What a sequence still owes: the flush at the end of buffered and of sustained writes.
  Result<double> finish(const Access& access);

  // What a write past the page cache still costs after it was answered, in the mean.
  [[nodiscard]] double drain_seconds() const { return drain_; }

  // Bytes that the kernel reads of its own accord before they are asked for.
  [[nodiscard]] std::uint64_t ahead(const Access& access) const {
    return access.mode == Mode::buffered && !access.write && !access.random ? file_.readahead() : 0;
  }
  // Requests that this stream can make one after another before it starts again.
  [[nodiscard]] std::uint64_t longest(const Access& access, std::uint64_t size) const;

 private:
  [[nodiscard]] std::uint64_t size() const { return file_.size(); }
  std::uint64_t next_offset(const Access& access, std::uint64_t length, std::uint64_t gap);

  WorkFile& file_;
  WorkFile& fresh_;
  std::uint64_t most_;
  std::uint64_t position_;
  std::uint64_t wrote_ = 0;  // requests past the page cache, since the last flush
  double drain_ = 0.001;
  std::mt19937_64 random_;
  Counted& counted_;
};

}  // namespace sluice

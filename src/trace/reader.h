// Reads a trace, in the order in which its calls began.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "base/sys.h"
#include "trace/format.h"

namespace sluice {

class TraceReader {
 public:
  // EBADMSG where it is no trace, or one that this program cannot read. One that was cut, or is damaged
  // further on, is read as far as it is whole: see trouble().
  // With so many events in memory at most, a block of each thread that is at work; by default 2 GiB of them.
  static Result<TraceReader> open(const std::string& path, std::uint64_t most_at_once = 24U << 20U);

  [[nodiscard]] const Json& about() const { return *about_; }
  // Of the whole trace; null where it was cut.
  [[nodiscard]] const Json& end() const { return *end_; }
  // Why not all of it could be read; "" = it is whole.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  // "" where there is none of that number.
  [[nodiscard]] const std::string& path(std::uint32_t number) const;
  [[nodiscard]] std::uint64_t events() const { return count_; }

  // Reads on where the trace ended before, because somebody writes to it.
  Status look_again();
  // The next one; false at the end.
  Result<bool> next(TraceEvent& event);

 private:
  // Blocks of one thread. At most one of them is in memory, from when its first event is due: a thread that
  // has not begun, or has ended, takes no room.
  struct Stream {
    std::vector<std::pair<TraceBlock, std::uint64_t>> blocks;  // with where each begins in the file
    std::size_t next_block = 0;
    std::vector<TraceEvent> events;
    std::size_t next_event = 0;
    bool waits = false;  // is in the heap
    // When its next event began. REQUIRES: there is one.
    [[nodiscard]] std::int64_t due() const {
      return next_event < events.size() ? events[next_event].begin : blocks[next_block].first.first;
    }
  };

  TraceReader(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  Status index();
  // False at the end of the file, or where it is not whole from there on.
  Result<bool> index_block(std::uint64_t& at);
  Result<std::string> unpack(const TraceBlock& block, std::uint64_t at);
  // The next block of a thread that can be read; there may be none.
  Status fill(Stream& stream);
  // Puts a stream that has more where its next event belongs.
  void push(std::size_t stream);
  [[nodiscard]] bool is_later(std::size_t a, std::size_t b) const {
    return streams_[a].due() > streams_[b].due();
  }

  std::string path_;
  UniqueFd fd_;
  JsonBox about_;
  JsonBox end_;
  std::string trouble_;
  std::vector<std::string> paths_;
  std::vector<Stream> streams_;
  std::unordered_map<std::uint64_t, std::size_t> stream_of_;  // by process and thread
  std::vector<std::size_t> heap_;  // streams that have more, the one that is due first on top
  std::uint64_t count_ = 0;
  std::uint64_t most_at_once_ = 0;
  std::uint64_t in_memory_ = 0;   // events of all streams
  std::uint64_t path_bytes_ = 0;  // that the paths take
  std::uint64_t at_ = 0;          // where in the file the next block begins
};

}  // namespace sluice

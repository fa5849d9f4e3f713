// How one open file is read, and what to fetch ahead of that.
//
// Threads that share a file race for its fields, and then something is fetched that nobody wants, or is not;
// nothing else depends on them.
#pragma once

#include <atomic>
#include <cstdint>

#include "stages/readahead/fetch.h"

namespace sluice::readahead {

enum class Pattern : std::uint8_t { automatic, sequential, strided, random };

struct Settings {
  std::int64_t window = 1 << 20;   // so far ahead of the reader
  std::int64_t memory = 64 << 20;  // so much of all files of the process
  Pattern pattern = Pattern::automatic;
};

class Reader {
 public:
  // As if it were new: readers are used again.
  void begin(std::int64_t position);
  void end() { ahead_.set(0); }

  // The file's own position was changed.
  void seek(std::int64_t position) { position_.store(position, relaxed); }
  void move(std::int64_t bytes) { seek(position_.load(relaxed) + bytes); }
  // So many bytes were read, at an offset or where the position is.
  void read(const Settings& settings, int fd, std::int64_t offset, std::int64_t bytes);
  void read_at_position(const Settings& settings, int fd, std::int64_t bytes);
  // A hint, POSIX_FADV_..., of the program.
  void hear(const Settings& settings, int fd, std::int64_t offset, std::int64_t length, int advice);

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  // A read and what has been seen of the file so far.
  struct Request {
    int fd;
    std::int64_t begin;
    std::int64_t end;
    bool at_position;
  };

  void follow(const Settings& settings, const Request& request);
  void follow_sequential(const Settings& settings, const Request& request);
  void follow_strided(const Settings& settings, const Request& request);
  [[nodiscard]] Pattern classify(const Request& request);
  // Nothing that was asked for will be read.
  void lose();
  // Whether the request is where the kernel says it was.
  [[nodiscard]] bool is_there(const Request& request);
  // Whether what comes next is taken to be in memory, like what came before it.
  [[nodiscard]] bool skips();
  // Whether the last byte of a step is; then the next steps are skipped.
  [[nodiscard]] bool finds(const Request& request, std::int64_t offset);

  std::atomic<Pattern> told_ = Pattern::automatic;  // by the program
  std::atomic<Pattern> kind_ = Pattern::random;     // of the last requests
  std::atomic<bool> impossible_ = false;
  enum class Sight : std::uint8_t { untried, good, blind };
  std::atomic<Sight> sight_ = Sight::untried;    // whether the kernel says what is in memory
  std::atomic<std::uint32_t> alike_ = 0;         // of that kind, one after the other
  std::atomic<std::int64_t> since_ = 0;          // where they began
  std::atomic<std::int64_t> position_ = 0;       // the file's own
  std::atomic<std::int64_t> begin_ = 0;          // of the last request
  std::atomic<std::int64_t> end_ = -1;           // -1 = there was none
  std::atomic<std::int64_t> stride_ = 0;         // to the one before it
  std::atomic<std::int64_t> asked_ = INT64_MAX;  // up to here, of what is sequential
  std::atomic<std::int64_t> strided_ = 0;        // of what is strided: from one piece to the next,
  std::atomic<std::int64_t> pieces_ = 0;         // pieces asked for beyond the last request,
  std::atomic<std::int64_t> enough_ = 0;         // and more than so many need no step
  std::atomic<std::int64_t> reach_ = 0;          // so far ahead by now
  std::atomic<std::uint32_t> cached_ = 0;        // looks in a row that found everything in memory
  std::atomic<std::uint32_t> skip_ = 0;          // steps before the next look
  Ahead ahead_;
};

}  // namespace sluice::readahead

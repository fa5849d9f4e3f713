// What each file of a trace had done to it. Counts only: words.h decides what they mean.
//
// Values; a file's can be added to those of another, which is how families come about.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/pattern.h"
#include "trace/text.h"

namespace sluice {

// Sizes of requests: exact while there are few different ones, else by classes of powers of two.
class RequestSizes {
 public:
  void add(std::uint64_t size, std::uint64_t count = 1);
  void add(const RequestSizes& other);
  // The size that half of them have, else the mean of the class in which the median lies.
  [[nodiscard]] std::uint64_t typical() const;
  // Share of those that are at least half and at most twice as large; -1 = there are none.
  [[nodiscard]] double near(std::uint64_t size) const;

 private:
  static constexpr std::size_t class_count = 40;
  struct Class {
    std::uint32_t count = 0;
    double bytes = 0;
  };
  using Classes = std::array<Class, class_count>;

  static std::size_t class_of(std::uint64_t size);
  // REQUIRES: classes_
  void put(std::uint64_t size, std::uint64_t count);
  void pour();

  Frequent<8> frequent_;
  std::uint64_t all_ = 0;
  std::unique_ptr<Classes> classes_;  // only once there are many sizes
};

// Which blocks of a file were read how often, of a sample that stays small: those whose number is congruent
// to one number modulo a power of three, which steps of a power of two do not miss.
class ReadBlocks {
 public:
  void add(std::int64_t begin, std::int64_t bytes, std::size_t most);
  // Bytes that were read, and how many different ones: summed up over blocks, the most frequent tenth left
  // out, because a header that is looked up all the time says nothing of the rest.
  struct Sum {
    double read = 0;
    double different = 0;
  };
  [[nodiscard]] Sum sum() const;

 private:
  struct Block {
    std::int64_t number = 0;
    std::uint64_t pieces = 0;  // a bit each
    double bytes = 0;
  };
  void thin_out();

  std::vector<Block> blocks_;  // by number
  std::int64_t modulus_ = 1;
  std::int64_t rest_ = 0;
};

// Reads or writes of a file.
struct Observed {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  std::uint64_t nanoseconds = 0;
  PatternCounts pattern;
  PatternCounts together;  // of all users of the file at once, where there are several
  RequestSizes sizes;

  void add(const Observed& other);
};

struct ObservedFile {
  std::unique_ptr<Observed> read;  // null = there were none
  std::unique_ptr<Observed> write;
  std::uint64_t files = 0;
  std::uint64_t opens = 0;
  std::uint64_t calls = 0;
  std::uint64_t nanoseconds = 0;
  std::uint64_t open_nanoseconds = 0;  // of them, in opens
  std::uint64_t syncs = 0;
  std::uint64_t synced_writes =
      0;  // that a sync follows before the next write, or that are synced themselves
  std::uint64_t synced_files = 0;
  std::uint64_t made_files = 0;     // new, or emptied, when they were first opened
  std::uint64_t removed_files = 0;  // that the program took away again
  std::uint64_t renamed_files = 0;  // to which it gave another name
  std::uint64_t created_files = 0;  // that the program would have made, had they not been there
  std::uint64_t unknown_sizes = 0;  // files that were appended to without knowing how long they were
  std::uint64_t size = 0;           // of all of them together
  std::uint64_t interleaved = 0;    // requests after one of the same thread on another open file
  double passes_read = 0;           // of the sample of blocks
  double passes_different = 0;
  std::uint32_t heard = 0;      // hints, as pipeline/heard.h has them
  std::uint32_t processes = 0;  // the most that used one of them
  Frequent<4> partners;         // files that the interleaved requests were on before
  std::vector<std::pair<std::uint32_t, std::uint64_t>> sites;  // from where they are opened, and how often

  static constexpr std::size_t most_sites = 64;
  void add_site(std::uint32_t site, std::uint64_t count);
  void add(const ObservedFile& other);
  [[nodiscard]] std::uint64_t requests() const;
  [[nodiscard]] std::uint64_t bytes() const;
};

// Reads events of one point of a trace, in their order.
class Observer {
 public:
  void add(const TraceEvent& event);
  // By number of the path; those of which nothing was seen have no opens and calls.
  std::vector<ObservedFile> finish();
  [[nodiscard]] std::uint64_t nameless() const { return nameless_; }

 private:
  struct User {
    std::uint32_t thread = 0;
    std::array<PatternFollower, 2> followers;
  };
  struct Open {
    std::uint32_t path = 0;
    bool syncs = false;  // every write, by its flags
    bool appends = false;
    std::uint64_t last_used = 0;
    std::vector<User> users;
    std::size_t last_user = 0;
  };
  // What is kept of a file while the trace is read.
  struct Live {
    ReadBlocks blocks;
    std::vector<std::uint32_t> processes;
    std::array<PatternFollower, 2> together;
    std::uint64_t users = 0;
    std::uint64_t unsynced = 0;  // writes that had no sync for them yet
  };
  struct Last {
    std::uint32_t file = 0;
    std::uint32_t path = 0;
  };

  void open(const TraceEvent& event);
  void change_names(const TraceEvent& event);
  void request(const TraceEvent& event, Open& open, std::int64_t offset);
  void interleave(const TraceEvent& event, const Open& open);
  User& user_of(Open& open, std::uint32_t thread);
  void forget_old();

  TracePositions positions_;
  std::vector<ObservedFile> files_;  // by number of the path
  std::vector<Live> live_;
  std::unordered_map<std::uint32_t, Open> open_;  // by number of the open file
  std::unordered_map<std::uint32_t, Last> last_;  // by thread
  std::uint64_t events_ = 0;
  std::uint64_t nameless_ = 0;
};

}  // namespace sluice

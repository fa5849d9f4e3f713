// What a run did, from what was counted.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/terminal.h"
#include "pipeline/area.h"
#include "trace/reader.h"

namespace sluice {

// Of one operation.
struct CallSum {
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;
  double seconds = 0;
};
using CallsByOperation = std::array<CallSum, SLUICE_OPERATIONS>;

struct Requests {
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
  std::uint64_t typical = 0;  // bytes of a request, the median by calls
  std::string pattern;        // sequential, strided, random, mixed; "" where there were none
  std::array<std::uint64_t, area_size_classes> sizes = {};  // how many have so many bits in their size
};

struct FileAccount {
  std::string path;
  CallsByOperation calls = {};
  std::uint64_t opens = 0;
  Requests read;
  Requests write;
  std::uint64_t syncs = 0;
  double sync_seconds = 0;
  std::uint32_t opened = 0;         // how, as AreaFile has it; of a trace 0
  std::uint64_t failures = 0;       // of anything
  double seconds = 0;               // in all of its calls
  std::optional<double> predicted;  // what its reads and writes should take, in seconds
  double predicted_low = 0;         // and its bounds
  double predicted_high = 0;
  std::string predicted_by;  // measured, traits, or learned: either of them, corrected by other runs
  std::string place;         // that is for; "" where it is not known
  std::string heard;         // the intent that hints to the kernel mean; "" where there were none
};

// What stages kept back and how it was written.
struct KeptAccount {
  std::uint64_t writes = 0;  // of programs
  std::uint64_t bytes = 0;
  std::uint64_t flushes = 0;        // writes that were made of them
  std::vector<std::string> not_of;  // files of which nothing was, in words
};

// What stages fetched before it was read.
struct FetchedAccount {
  std::uint64_t pieces = 0;
  std::uint64_t bytes = 0;
};

// Files that were in memory alone for a while.
struct SmallAccount {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;    // of those that were put down
  std::uint64_t removed = 0;  // before that
};

// What was counted where a further `stats` stands in the stack.
struct PointAccount {
  std::string name;
  std::vector<FileAccount> files;  // the longest first
  FileAccount others;              // those beyond as many as there are rows, together, without a path
};

struct Account {
  // Whether the library came up anywhere: else all is 0 whatever the program did.
  [[nodiscard]] bool is_blind() const { return processes == 0 && files.empty(); }

  std::vector<FileAccount> files;    // where the first `stats` stands; the longest first
  FileAccount others;                // as a point has them
  std::vector<PointAccount> points;  // where further ones do
  std::uint64_t processes = 0;       // in which something could be seen
  std::uint64_t unseen = 0;          // programs that were started and in which nothing could be
  std::uint64_t unmanaged = 0;       // opens that passed no stage
  KeptAccount kept;
  FetchedAccount fetched;
  std::uint64_t elsewhere = 0;  // files that were made there and brought home
  SmallAccount small;
  double seconds = 0;  // of the run
};

Account account_of(Area& area, double seconds);
// The same of what was seen at one point of a trace.
Result<Account> account_of(TraceReader& trace, std::uint8_t point);
// That nothing was observed, or not of all that it started, and what tells why; "" where all was.
std::string unseen_text(const Account& account, const std::vector<std::string>& command);
// What stages did with the program's I/O, a line each; "" where nothing was.
std::string done_text(const Account& account);
// A line, the files that took longest below it, and what calls there were. "" where nothing was observed.
std::string account_text(const Account& account, const Style& style);
Json account_json(const Account& account);

}  // namespace sluice

// What a trace does, summed up by families of files: those whose paths differ in numbers alone.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/text.h"

namespace sluice {

// Values with how often they came; of many different ones, powers of two.
class Frequencies {
 public:
  void add(std::int64_t value);
  [[nodiscard]] std::int64_t largest() const { return all_.empty() ? 0 : all_.rbegin()->first; }
  // The most frequent first, with their shares of all, at most so many.
  [[nodiscard]] std::vector<std::pair<std::int64_t, double>> top(std::size_t most) const;

 private:
  static constexpr std::size_t most_exact = 256;
  void round();

  std::map<std::int64_t, std::uint64_t> all_;
  std::uint64_t count_ = 0;
  bool rounded_ = false;
};

struct FamilyRequests {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t follow = 0;   // where the one before of the same open file ended
  std::uint64_t forward = 0;  // behind that
  std::uint64_t back = 0;     // before it
  Frequencies sizes;
  Frequencies gaps;  // of those that go forward
  std::set<std::uint32_t> processes;
  std::size_t sharing = 0;   // most processes that do so to one file
  std::uint64_t extent = 0;  // of the largest file, as far as it was used
  std::int64_t first = 0;    // begin of the first, end of the last
  std::int64_t last = 0;

  [[nodiscard]] std::uint64_t typical() const;  // the most frequent size; 0 = there is none
  // "sequential", "strided" where the gaps are alike, else "random"; "" = there are none.
  [[nodiscard]] std::string pattern() const;
  [[nodiscard]] std::int64_t gap() const;  // of a strided one
};

struct TracedFamily {
  std::string name;  // with * for numbers
  std::size_t files = 0;
  FamilyRequests read;
  FamilyRequests write;
  std::uint64_t syncs = 0;
  std::uint64_t data_syncs = 0;
  bool direct = false;
};

class TracedWorkload {
 public:
  void add(const TraceEvent& event, const std::string& path);
  // Those with requests.
  [[nodiscard]] std::vector<TracedFamily> families() const;

 private:
  struct File {
    std::size_t family = 0;
    std::set<std::uint32_t> readers;
    std::set<std::uint32_t> writers;
  };
  File& file_of(const std::string& path);

  std::vector<TracedFamily> families_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::unordered_map<std::string, File> files_;
  std::unordered_map<std::uint64_t, std::int64_t> ends_;  // by open file and direction
  TracePositions positions_;
};

}  // namespace sluice

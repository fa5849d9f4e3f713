// Runs of a command before and under rules, compared.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tune/looks.h"
#include "tune/moves.h"
#include "tune/runs.h"

namespace sluice {

// Before and after, as they were run in turn, without any trace.
struct Comparison {
  std::vector<double> before;  // seconds
  std::vector<double> after;
  Gain gain;
  bool same_work = true;           // else the gain may be that of doing less
  std::vector<std::string> notes;  // what makes it doubtful, a sentence each
};

struct CompareSettings {
  Looks looks = {};
  bool warm_up = false;     // a first pair that does not count
  double limit = 0;         // seconds that one of them may take; 0 = any
  std::uint64_t bytes = 0;  // that files of the rules moved in the traced run
  std::uint64_t read = 0;   // bytes that it read, of all files that count
  std::function<void(const std::string&)> progress = {};
};

struct Compared {
  Comparison comparison;
  ProgramRun last;             // under the rules
  bool broke = false;          // the program failed under the rules and not without them
  std::string hindrance = {};  // why data could not be moved; all of it is where it was

  // Nothing more is to be run.
  [[nodiscard]] bool has_ended() const { return broke || !hindrance.empty(); }
};

// Whether so many bytes of two runs may be of the same work.
bool is_same_work(std::uint64_t one, std::uint64_t other);

// Runs the command under `rules` ("" = none), with what is to be moved there, and as it is, in turn, the
// other way first in each pair, until the looks say that it is enough. `first` is the traced run, which
// nothing but the work is held against. What is to be moved may be at either end then; at home, if it broke
// or there was an error.
Result<Compared> compare(const Runs& runs, const std::string& rules, Moves& moves, const ProgramRun& first,
                         const CompareSettings& settings);

}  // namespace sluice

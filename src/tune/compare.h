// Runs of a command before and under rules, compared.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tune/moves.h"
#include "tune/runs.h"
#include "tune/trial.h"

namespace sluice {

// Before and after, as they were run.
struct Comparison {
  std::vector<double> before;  // seconds
  std::vector<double> after;
  Gain gain;
  bool same_work = true;           // else the gain may be that of doing less
  std::vector<std::string> notes;  // what makes it doubtful, a sentence each
};

struct CompareSettings {
  unsigned repeat = 0;  // pairs of runs; 0 = one run under the rules, held against the traced one
  double limit = 0;     // seconds that one of them may take; 0 = any
  double noise = least_noise;
  std::uint64_t bytes = 0;  // that files of the rules moved in the traced run
  std::uint64_t read = 0;   // bytes that it read, of all files that count
  std::function<void(const std::string&)> progress = {};
};

struct Compared {
  Comparison comparison;
  ProgramRun last;             // under the rules
  bool broke = false;          // the program failed under the rules and not without them
  std::string hindrance = {};  // why data could not be moved; all of it is where it was
};

// Runs the command under `rules` ("" = none), with what is to be moved there, alternately with runs of it as
// it is. `first` is the traced run. What was moved is there at the end, unless there was an error or it
// broke.
Result<Compared> compare(const Runs& runs, const std::string& rules, Moves& moves, const ProgramRun& first,
                         const CompareSettings& settings);

}  // namespace sluice

// Candidates tried out by replays of the trace: nothing of the program's is touched.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tune/gain.h"
#include "tune/study.h"

namespace sluice {

struct Tried {
  Candidate candidate;
  std::vector<double> replayed = {};       // seconds of each replay
  std::optional<Expected> by_replay = {};  // of the whole run
  std::optional<Gain> gain = {};           // of the whole run over the program as it is, by replay
  std::string trouble = {};                // why it was not replayed; "" = it was
};

struct TrialSettings {
  std::string scratch;   // for rules
  double seconds = 120;  // that all replays together may take; 0 = the model alone
  unsigned rounds = 3;   // of each, in turn
  bool cold = false;     // caches are dropped before each
  double starting = 0;   // seconds that `sluice run` itself takes with the program, before and after it
  std::function<void(const std::string&)> progress = {};
};

// Each candidate, the first of which is the program as it is; and at the end those together that gained.
// Replays that take too long, or need more room than there is, are not made, and that is said. EINTR where a
// signal came.
Result<std::vector<Tried>> try_out(const std::string& trace, const Study& study,
                                   std::vector<Candidate> candidates, const TrialSettings& settings);

// The one that is surely better than the program as it is, and the best of those; null where none is. Where
// there were no replays, by the model.
const Tried* best_of(const std::vector<Tried>& all);

}  // namespace sluice

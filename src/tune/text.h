// What was found and done, for people, other programs and the page.
#pragma once

#include "base/terminal.h"
#include "report/report.h"
#include "tune/compare.h"
#include "tune/trial.h"

namespace sluice {

// All that is known at the end; what was not reached is empty.
struct Tuned {
  const Study* study = nullptr;
  const std::vector<Tried>* tried = nullptr;
  const Tried* chosen = nullptr;              // null = nothing is surely better
  std::optional<Comparison> comparison = {};  // where it was run
  bool observed = true;                       // all that the command started
  bool kept = false;                          // it was better, and the rules are where they were asked for
  std::string reset = {};                     // what --before may be, so that outputs are not met
  std::string rules = {};                     // that file
  std::vector<std::string> notes = {};
};

// What could be done, with what it would take.
std::string candidates_text(const std::vector<Tried>& tried, const Style& style);
// What the chosen one does with which files, why, and what is weaker then.
std::string choice_text(const Tried& chosen, const Style& style);
// Predicted beside measured.
std::string outcome_text(const Tuned& tuned, const Style& style);
Json tuned_json(const Tuned& tuned);
ReportTune report_of(const Tuned& tuned);

// Of the whole run: by replay where there was one. Null where nothing was chosen.
const Expected* predicted(const Tuned& tuned);

}  // namespace sluice

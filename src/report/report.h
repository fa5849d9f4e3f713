// The page that tells what a program does with its files, where the time goes, and what was gained: one HTML
// file that needs nothing beside it. Pure: data in, text out. All text that is given is escaped here; paths
// may hold any byte.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/view.h"

namespace sluice {

// A figure and the interval in which it is sure to be; low = high = value where nothing is known of that.
struct ReportFigure {
  double value = 0;
  double low = 0;
  double high = 0;
};

// A way to run the program: on some place, through some stages.
struct ReportCandidate {
  std::string name;                      // "nvme + writeback"
  std::optional<ReportFigure> by_model;  // seconds of the whole program
  std::optional<ReportFigure> by_replay;
  std::optional<ReportFigure> measured;  // of the program itself
  std::string note;                      // why it cannot be chosen, or what is special; "" = nothing
};

// What was done for files that match.
struct ReportAction {
  std::string files;   // a glob
  std::string place;   // where they are; "" = where they were
  std::string stages;  // "writeback:block=1M"; "" = none
  std::string why;
};

// A word about a family of files, and what it rests on.
struct ReportWord {
  std::string files;      // a glob
  std::string word;       // "sequential", "request=4K"
  std::string evidence;   // "9 998 of 10 000 requests"
  double confidence = 0;  // 0..1
  bool doubtful = false;  // commented out in the rules, or a person must confirm it
};

struct ReportRisk {
  std::string text;      // one sentence
  bool confirm = false;  // nothing may rely on it before a person has agreed
};

// What `sluice tune` found. Every list may be empty, and is then not shown.
struct ReportTune {
  std::vector<ReportCandidate> candidates;  // the best first
  std::string chosen;                       // the name of one of them; "" = nothing was changed
  std::string why;                          // one sentence about the choice
  std::vector<double> before;               // seconds of each run, in the order in which they were made
  std::vector<double> after;
  std::optional<ReportFigure> gain;  // before / after: 2 is twice as fast
  bool sure = false;                 // the gain is more than the noise
  std::vector<ReportAction> actions;
  std::vector<ReportRisk> risks;
  std::vector<ReportWord> words;
  std::vector<std::string> notes;  // what else is to be said, a sentence each
};

struct ReportInput {
  TraceView view;
  std::optional<ReportTune> tune;
  std::string source;  // where the trace is; "" = it was not kept
};

std::string report_page(const ReportInput& input);

}  // namespace sluice

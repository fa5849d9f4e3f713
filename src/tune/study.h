// What a trace says of a program, beside the storage that its files lie on.
#pragma once

#include <string>
#include <vector>

#include "plan/storage.h"
#include "tune/candidate.h"

namespace sluice {

struct Study {
  Storage storage;
  Lessons lessons;
  std::vector<FileLoad> loads;  // of the lessons, on the storage
  TracedRun run;

  // How many files count, and what was read of all of them.
  [[nodiscard]] std::uint64_t files() const;
  [[nodiscard]] std::uint64_t bytes_read() const;
  // Files that the program would make, had they not been there, are there now: it finds them when it is run.
  void mark_what_is_there();
};

// The place that a folder is on, whatever links lead there; null where that is not known.
const Place* place_of_folder(const Discovery& found, const std::string& folder);

// EBADMSG where it is no trace. A trace of hashed paths is refused: nobody can say what to do with which
// file.
Result<Study> study_trace(const std::string& trace, Storage storage);

// The rules file for a candidate: what was learned, and the stages that its files are to pass.
std::string rules_for(const Study& study, const Candidate& candidate, const std::string& about);

}  // namespace sluice

// Data that a candidate has elsewhere before the program runs: `sluice place --adopt`, and `sluice undo`, by
// a process of its own each.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tune/candidate.h"

namespace sluice {

class Moves {
 public:
  // `common` are options that both commands get, such as --catalog.
  Moves(const Candidate& candidate, std::vector<std::string> common);

  [[nodiscard]] bool any() const { return !files_.empty(); }
  // All of it is there, if it was not yet, or an error and all of it is back; EINTR where a signal came.
  Status there();
  // What there() moved is where it was.
  Status back();

 private:
  struct File {
    std::string path;
    std::string intent;
    std::string place;  // that it is meant for
  };
  Status put(const File& file);

  std::vector<File> files_;
  std::vector<std::string> common_;
  std::vector<std::string> moved_;
};

}  // namespace sluice

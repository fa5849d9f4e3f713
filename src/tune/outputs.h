// What a run of a command has left that the next one meets: programs do other things with an output that is
// there.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "base/result.h"

namespace sluice {

struct Outputs {
  std::vector<std::string> made;  // files that the run has made, and that are there
  bool all = true;                // false: there are more of their kind
  std::uint64_t moved = 0;        // bytes that the run read and wrote, of files that count

  [[nodiscard]] bool any() const { return !made.empty(); }
  // The first of them, for people.
  [[nodiscard]] std::string names() const;
  // A command line for the shell that removes them; "" where not all are known.
  [[nodiscard]] std::string reset() const;
};

// As file systems have it for new files.
timespec time_of_files();
// Of a run that began at `begin`, by its trace. Where a file system does not say when a file was made,
// nothing is known to be.
Result<Outputs> outputs_of(const std::string& trace, timespec begin);

// A word as the shell takes it.
std::string shell_word(const std::string& text);

}  // namespace sluice

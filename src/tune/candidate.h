// What could be done with the files of a traced program, and how long it would take then, by the model. Pure.
//
// The model is not asked how long something takes, but by how much another place or larger requests change
// what the trace has measured: home as it was counts as measured.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "learn/learn.h"
#include "plan/plan.h"

namespace sluice {

// A family of files, with the storage that it lies on.
struct FileLoad {
  const LearnedFamily* family = nullptr;
  Intent intent = {};           // of the words that are said
  const Place* home = nullptr;  // null = not known
  bool there = false;           // its files are there when the program runs: nothing can make them elsewhere
};

struct Expected {
  double seconds = 0;
  double low = 0;
  double high = 0;
};

// What is done with one family.
struct Action {
  const FileLoad* load = nullptr;
  std::vector<std::string> stages =
      {};                            // as `sluice run --stage` takes them, the nearest to the program first
  const Place* elsewhere = nullptr;  // where rewrite makes the files, or where they are moved before the run
  bool moves = false;                // they are moved before the run, and stay there
  std::string why = {};              // one line
};

struct Candidate {
  std::string name;                     // "writeback", "rewrite to nvram"
  std::vector<Action> actions = {};     // none: the program as it is
  std::vector<std::string> risks = {};  // what is late, or weaker than without; a line each
  std::vector<std::string> moved =
      {};               // globs of data that would be elsewhere, and is not said to be temporary
  Expected model = {};  // of the whole run

  [[nodiscard]] bool is_native() const { return actions.empty(); }
  // Whether files of it pass any.
  [[nodiscard]] bool has_stages() const;
  // What those that do moved in the traced run.
  [[nodiscard]] std::uint64_t bytes_in_stages() const;
};

// The program as it was traced.
struct TracedRun {
  double seconds = 0;   // of the whole
  double in_calls = 0;  // of all threads together
};

// The first is the program as it is; each other one does one thing wherever it applies. `folder` is the name
// of the user's own folder on another place. The loads must outlive them.
std::vector<Candidate> candidates_for(std::span<const FileLoad> loads, std::span<const Place> places,
                                      const Profiles& profiles, const TracedRun& run,
                                      std::string_view folder);

// Both at once, where they are about different families or go with each other; nothing where they clash.
// `run` is what each is held against.
std::optional<Candidate> combined(const Candidate& one, const Candidate& other, const TracedRun& run);

}  // namespace sluice

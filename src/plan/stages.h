// Which stages the files of an intent should pass, and why. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace sluice {

struct StageChoice {
  std::string stage;  // as `sluice run --stage` takes it
  std::string why;    // one line
};

struct StagePlan {
  std::vector<StageChoice> stages;   // in the order of a stack
  std::vector<StageChoice> without;  // names of those that were looked at and left out
  const Place* elsewhere = nullptr;  // of the places: where new files are made, with rewrite
};

// For files that lie on `home`, which need not be among the places where new data may go; null = nobody knows
// where they lie. `folder` is the name that a folder of the user's own gets on another place. Only what the
// intent says counts, never what a forecast assumes:
//
// rewrite    for writes that another place takes surely faster, the way home included: its worst forecast is
//            better than the best one of home. The place keeps every constraint, and so does home. One that
//            is volatile is for `temp` alone, unless home is: else a power cut would take what fsync
//            promised. The data must have a totalsize: a place that is full fails writes that would have
//            succeeded.
// readahead  for sequential and strided reads, unless they are from memory
// writeback  for writes no larger than a block, and for others that a profile says are surely slower than
//            blocks of it
StagePlan plan_stages(const Intent& intent, std::span<const Place> places, const Profiles& profiles,
                      const Place* home, std::string_view folder);

}  // namespace sluice

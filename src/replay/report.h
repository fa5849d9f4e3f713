// What a replay came to, for people and for programs.
#pragma once

#include <string>

#include "base/json_fwd.h"
#include "base/terminal.h"
#include "replay/replay.h"

namespace sluice {

std::string replay_text(const Replayed& replayed, const Style& style);
Json replay_json(const Replayed& replayed);
// The gain, below what the last two replays came to.
std::string comparison_text(const ReplayComparison& comparison, const Style& style);
Json comparison_json(const ReplayComparison& comparison);

}  // namespace sluice

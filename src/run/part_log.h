// Reads the log of a part (pipeline/parts.h writes it, docs/run.md describes it). Whatever the bytes are,
// what comes out is as it was written: all of it, or the beginning of it, and then what is wrong is said.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pipeline/parts.h"

namespace sluice {

struct PartLog {
  LogHead head;               // `run` and `path` end with a zero
  std::vector<Piece> pieces;  // none ends beyond what a file can have
  std::string damage;         // what is wrong behind them; "" = nothing
};

// Whether it begins like one. Folders have other files that end in ".log".
bool is_part_log(std::string_view bytes);
// Fails where the head is not right: what it belongs to is not known then. Pure.
Result<PartLog> parse_part_log(std::string_view bytes);

}  // namespace sluice

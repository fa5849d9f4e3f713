// What can be said to a wire while it runs, one line each:
//   status  stall  release  cut  down  up  loss P  set rtt=TIME  clear
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace sluice::lab {

struct WireCommand {
  enum class Kind { status, stall, release, cut, down, up, loss, rtt, clear };
  Kind kind = Kind::status;
  double loss = 0;  // of `loss`
  Duration rtt;     // of `set rtt=`
};

// Form and meaning of each fault, for the manual.
std::vector<std::pair<std::string, std::string>> wire_commands();

Result<WireCommand> parse_wire_command(std::string_view line);

// A round-trip time is at most ten seconds.
Status check_rtt(Duration rtt);

}  // namespace sluice::lab

// `sluice lab net`: hosts as network namespaces, joined by a link with a round-trip time and a rate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/units.h"
#include "lab/folder.h"

namespace sluice::lab {

struct NetOptions {
  std::string name = "net";
  std::vector<std::string> hosts;
  Duration rtt;
  std::optional<std::uint64_t> rate;  // bits per second; none: as fast as the machine
};

// Makes the net and starts its server; what that says of itself (docs/schema/lab-net.json). What was made
// before an error is removed again. REQUIRES: this process has one thread.
Result<Json> make_net(const std::string& lab, const NetOptions& options);

// Ends the server and removes the namespaces, the member's files and its folder. May be repeated, and takes a
// net that is there in part only. REQUIRES: the lab's lock.
Status remove_net(const Member& net);

}  // namespace sluice::lab

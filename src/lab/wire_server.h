// The process behind a net: holds the namespace in which the far ends of the hosts' cables lie, and runs the
// wire between them. When it ends, that namespace and the cables are gone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/service.h"
#include "lab/wire_flows.h"

namespace sluice::lab {

struct NetHost {
  std::string name;
  std::string address;  // 10.77.0.1
  Mac mac{};
};

struct NetLink {
  std::vector<NetHost> hosts;
  Duration rtt;
  std::optional<std::uint64_t> rate;  // bits per second
};

// Lays a cable (eth0) from every host's namespace to a new one of this process, and serves until it is told
// to end. REQUIRES: the namespaces of the hosts are there.
Status serve_wire(const Member& net, const NetLink& link, const Ready& ready);

}  // namespace sluice::lab

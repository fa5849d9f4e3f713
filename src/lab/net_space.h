// The network namespaces of a net's hosts.
//
// A host's namespace is mounted on LAB/NET/ns/HOST, and /run/netns/HOST, where `ip netns` looks, is a link to
// it. So one sees whose it is, and nobody else's namespace of that name can be removed by mistake.
#pragma once

#include <string>

#include "lab/folder.h"

namespace sluice::lab {

// Is there one of that name, whoever made it?
bool has_namespace(const std::string& host);
// With its loopback up. The thread stays in the namespace that it is in.
Status make_namespace(const Member& net, const std::string& host);
// What of it is there. Processes inside go on; it then ends with the last of them.
Status remove_namespace(const Member& net, const std::string& host);

}  // namespace sluice::lab

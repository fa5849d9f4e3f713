// Servers: processes of their own that outlive the command that started them.
#pragma once

#include <functional>

#include "base/units.h"

#include "service/server_folder.h"

namespace sluice::service {

// Tells whoever started the server that it is ready. Afterwards errors go to the log only.
using Ready = std::function<void()>;

// Runs `serve` in a new process (own session, no terminal, standard error into the folder's log) after the
// process has claimed the folder, and returns its id when it has called ready(), or the error with which it
// ended before. Of the caller's descriptors the child has only `lock`, and until it is ready, so that
// `down` never meets half a server.
// REQUIRES: this process has one thread and holds `lock`, which keeps others from the folder.
Result<int> start_server(const ServerFolder& server, UniqueFd& lock,
                         const std::function<Status(const Ready&)>& serve);

// The same in this process, for servers that stay in the foreground.
Status serve_here(const ServerFolder& server, UniqueFd& lock,
                  const std::function<Status(const Ready&)>& serve);

// Ends the server: asks it, and after a while kills it. Done when its lock is free.
Status end_server(const ServerFolder& server, Duration patience = Duration(2, 0));

}  // namespace sluice::service

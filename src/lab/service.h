// What the lab uses of `service`, under its own names.
#pragma once

#include "lab/folder.h"
#include "service/control.h"
#include "service/daemon.h"
#include "service/loop.h"
#include "service/reactor.h"

namespace sluice::lab {

using service::ask;
using service::attach_loop;
using service::ControlServer;
using service::detach_loop;
using service::end_server;
using service::Instant;
using service::LoopDevice;
using service::loops_below;
using service::monotonic_now;
using service::never;
using service::Reactor;
using service::Ready;
using service::serve_here;
using service::start_server;

}  // namespace sluice::lab

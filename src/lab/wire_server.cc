#include "lab/wire_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

#include "base/json.h"
#include "base/log.h"
#include "base/step.h"
#include "base/subprocess.h"
#include "lab/net_rate.h"
#include "lab/service.h"
#include "lab/wire_socket.h"

namespace sluice::lab {
namespace {

std::string interface_of(std::size_t port) {
  return fmt::format("host{}", port + 1);
}

// Our ends of the cables are sockets, not a machine: it must not say anything on the net by itself.
Status be_silent() {
  const char* const path = "/proc/sys/net/ipv6/conf/default/disable_ipv6";
  const UniqueFd fd(sys().open(path, O_WRONLY | O_CLOEXEC, 0));
  if (!fd && errno == ENOENT) {
    return {};  // a kernel without IPv6
  }
  if (!fd || sys().write(fd.get(), "1", 1) != 1) {
    return Errno().fail(fmt::format("cannot write to {}", path));
  }
  return {};
}

Status lay_cable(const std::string& ours, const NetHost& host, const NetLink& link) {
  const Mac& mac = host.mac;
  SLUICE_CHECK(run_tool({"ip",
                         {"link", "add", ours, "type", "veth", "peer", "name", "eth0", "address",
                          fmt::format("{:02x}", fmt::join(mac, ":")), "netns", host.name}}));
  SLUICE_CHECK(run_tool({"ip", {"link", "set", ours, "up"}}));
  SLUICE_CHECK(run_tool({"ip", {"-n", host.name, "address", "add", host.address + "/24", "dev", "eth0"}}));
  if (link.rate) {
    const RateShape shape = shape_of(*link.rate, link.rtt);
    SLUICE_CHECK(run_tool({"tc",
                           {"-n", host.name, "qdisc", "add", "dev", "eth0", "root", "tbf", "rate",
                            fmt::format("{}bit", *link.rate), "burst", fmt::format("{}", shape.burst),
                            "limit", fmt::format("{}", shape.queue)}}));
  }
  SLUICE_CHECK(run_tool({"ip", {"-n", host.name, "link", "set", "eth0", "up"}}));
  return {};
}

Json faults_json(const Wire& wire) {
  Json out = Json::array();
  if (wire.state() != "up") {
    out.push_back(wire.state() == "down" ? "down" : "stall");
  }
  if (wire.loss() > 0) {
    out.push_back(fmt::format("loss {}", print_number(wire.loss())));
  }
  return out;
}

Json status_json(const Member& net, const NetLink& link, const Wire& wire,
                 const std::vector<std::uint64_t>& missed) {
  Json hosts = Json::array();
  for (std::size_t i = 0; i < link.hosts.size(); ++i) {
    const WirePort& port = wire.ports()[i];
    hosts.push_back({{"host", link.hosts[i].name},
                     {"namespace", "/run/netns/" + link.hosts[i].name},
                     {"address", link.hosts[i].address},
                     {"forwarded_frames", port.forwarded.frames},
                     {"forwarded_bytes", port.forwarded.bytes},
                     {"dropped_frames", port.dropped.frames + missed[i]},
                     {"dropped_bytes", port.dropped.bytes}});
  }
  return {{"name", net.name()},
          {"kind", "net"},
          {"state", wire.state()},
          {"rtt", wire.rtt()},
          {"rate", link.rate ? Json(*link.rate) : Json()},
          {"loss", wire.loss()},
          {"faults", faults_json(wire)},
          {"connections", wire.connections()},
          {"held_frames", wire.queue().frames()},
          {"held_bytes", wire.queue().bytes()},
          {"held_most", Wire::memory},
          {"overflowed_frames", wire.overflowed()},
          {"hosts", std::move(hosts)}};
}

// How much later than asked a frame may be delivered. Without it the reactor would spin all the time while
// there is traffic; with it frames that are due within a short time go together.
Instant slack_of(const Wire& wire) {
  return std::min<Instant>(wire.queue().delay() / 100, std::chrono::microseconds(100));
}

}  // namespace

Status serve_wire(const Member& net, const NetLink& link, const Ready& ready) {
  SLUICE_TRY(Reactor reactor, Reactor::create());
  if (unshare(CLONE_NEWNET) != 0) {
    return Errno().fail("cannot make a network namespace");
  }
  SLUICE_CHECK(be_silent());
  step("wire's namespace made");

  std::vector<Mac> macs;
  std::vector<WireSocket> sockets;
  for (const NetHost& host : link.hosts) {
    const std::string ours = interface_of(macs.size());
    SLUICE_CHECK(lay_cable(ours, host, link));
    step("cable laid");
    SLUICE_TRY(WireSocket socket, WireSocket::open(ours));
    sockets.push_back(std::move(socket));
    macs.push_back(host.mac);
  }
  std::vector<std::uint64_t> missed(sockets.size());
  Wire wire(macs, link.rtt,
            [&](std::size_t port, const FrameBytes& frame) { return sockets[port].send(frame); });
  for (std::size_t port = 0; port < sockets.size(); ++port) {
    SLUICE_CHECK(reactor.watch(sockets[port].fd(), [&, port] {
      sockets[port].receive(
          [&](Instant when, FrameBytes frame) { wire.arrive(port, when, std::move(frame)); });
    }));
  }

  const auto control = ControlServer::listen(net, reactor, [&](std::string_view line) -> Result<Json> {
    SLUICE_TRY(const WireCommand command, parse_wire_command(line));
    wire.apply(command);
    if (command.kind != WireCommand::Kind::status) {
      log::info("{}", line);
    }
    for (std::size_t port = 0; port < sockets.size(); ++port) {
      missed[port] += sockets[port].take_missed();
    }
    return status_json(net, link, wire, missed);
  });
  if (!control) {
    return control.error();
  }
  step("wire listens");
  ready();
  return reactor.run([&](Instant now) {
    const Instant next = wire.advance(now);
    return next == never ? never : next + slack_of(wire);
  });
}

}  // namespace sluice::lab

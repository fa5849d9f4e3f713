#include "lab/net.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "base/step.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "lab/net_space.h"
#include "lab/service.h"
#include "lab/wire_command.h"
#include "lab/wire_server.h"

namespace sluice::lab {
namespace {

constexpr std::size_t most_hosts = 200;
constexpr int most_subnets = 256;

Status check(const NetOptions& options) {
  SLUICE_CHECK(check_member_name(options.name));
  SLUICE_CHECK(check_rtt(options.rtt));
  if (options.hosts.size() < 2 || options.hosts.size() > most_hosts) {
    return bad_input(fmt::format("a net has from 2 to {} hosts, not {}", most_hosts, options.hosts.size()));
  }
  std::set<std::string_view> seen;
  for (const std::string& host : options.hosts) {
    SLUICE_CHECK(check_member_name(host));
    if (!seen.insert(host).second) {
      return bad_input(fmt::format("the host {} is named twice", quote(host)));
    }
  }
  if (options.rate && *options.rate == 0) {
    return bad_input("at a rate of 0 nothing would arrive",
                     "without a rate the link is as fast as the machine");
  }
  return {};
}

Status check_machine(const NetOptions& options) {
  if (geteuid() != 0) {
    return fail("only root can make network namespaces", "run the command as root");
  }
  for (const ToolName tool : {ToolName("ip"), ToolName("tc")}) {
    if (find_tool(tool).empty()) {
      return not_installed(tool.text());
    }
  }
  for (const std::string& host : options.hosts) {
    if (has_namespace(host)) {
      return fail(fmt::format("there is a network namespace {} already", quote(host)),
                  fmt::format("choose another name; or, if it is a net's of this lab, take that down with "
                              "`sluice lab down`; if nobody needs it, `ip netns delete {}`",
                              host));
    }
  }
  return {};
}

// The net's hosts as they were written down: a line each, "HOST ADDRESS".
std::vector<std::pair<std::string, std::string>> written_hosts(const Member& net) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto text = read_file(net.file("hosts"));
  for (const std::string_view line : split(text ? std::string_view(*text) : std::string_view(), '\n')) {
    const auto words = split_blanks(line);
    if (words.size() == 2 && check_member_name(words[0])) {
      out.emplace_back(words[0], words[1]);
    }
  }
  return out;
}

// Nets could all have the same addresses, being apart; but whoever looks at two of them would be confused.
Result<std::vector<NetHost>> number_hosts(const std::string& lab, const NetOptions& options) {
  std::set<std::string> taken;
  for (const Member& net : members(lab, "net")) {
    for (const auto& [host, address] : written_hosts(net)) {
      taken.insert(address);
    }
  }
  for (int subnet = 0; subnet < most_subnets; ++subnet) {
    // A net's first host has number 1.
    if (taken.contains(fmt::format("10.77.{}.1", subnet))) {
      continue;
    }
    std::vector<NetHost> out;
    for (const std::string& name : options.hosts) {
      const std::size_t number = out.size() + 1;
      out.push_back(
          {.name = name,
           .address = fmt::format("10.77.{}.{}", subnet, number),
           .mac = {0x02, 0x77, 0, static_cast<std::uint8_t>(subnet), 0, static_cast<std::uint8_t>(number)}});
    }
    return out;
  }
  return fail(fmt::format("the lab has {} nets, more than there are addresses for", most_subnets),
              "take some down with `sluice lab down`");
}

Status build(const Member& net, UniqueFd& lock, const NetLink& link) {
  std::string hosts;
  for (const NetHost& host : link.hosts) {
    hosts += fmt::format("{} {}\n", host.name, host.address);
  }
  SLUICE_CHECK(write_file(net.file("hosts"), hosts));
  step("hosts written down");
  for (const NetHost& host : link.hosts) {
    SLUICE_CHECK(make_namespace(net, host.name));
  }
  SLUICE_CHECK(start_server(net, lock, [&](const Ready& ready) { return serve_wire(net, link, ready); }));
  step("server started");
  return {};
}

}  // namespace

Result<Json> make_net(const std::string& lab, const NetOptions& options) {
  SLUICE_CHECK(check(options));
  SLUICE_CHECK(check_machine(options));
  SLUICE_TRY(UniqueFd lock, lock_lab(lab));
  const Member net(lab, options.name);
  NetLink link{.hosts = {}, .rtt = options.rtt, .rate = options.rate};
  SLUICE_TRY(link.hosts, number_hosts(lab, options));
  SLUICE_CHECK(net.create("net"));
  step("folder made");
  Status built = build(net, lock, link);
  if (!built) {
    if (const Status removed = remove_net(net); !removed) {
      log::warn("{}; `sluice lab down {}` removes the rest", removed.error().text(), net.name());
    }
    return built.error();
  }
  return ask(net, "status");
}

Status remove_net(const Member& net) {
  SLUICE_CHECK(end_server(net));
  step("server ended");
  for (const auto& [host, address] : written_hosts(net)) {
    SLUICE_CHECK(remove_namespace(net, host));
    step("namespace removed");
  }
  if (rmdir(net.file("ns").c_str()) != 0 && errno != ENOENT) {
    return Errno().fail(fmt::format("cannot remove {}", quote(net.file("ns"))));
  }
  step("namespaces removed");
  return net.remove();
}

}  // namespace sluice::lab

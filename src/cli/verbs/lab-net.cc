#include <fmt/format.h>

#include <array>

#include "base/table.h"
#include "base/text.h"
#include "cli/verb.h"
#include "lab/net.h"
#include "lab/net_rate.h"

namespace sluice {
namespace {

constexpr Option option_name = {.name = "name",
                                .type = OptionType::text,
                                .argument = "NAME",
                                .fallback = "net",
                                .help = "what the net is called in the lab"};
constexpr Option option_rtt = {.name = "rtt",
                               .type = OptionType::duration,
                               .argument = "TIME",
                               .range = "0s..10s",
                               .fallback = "40ms",
                               .help =
                                   "how long a frame and its answer are on their way, beside what the "
                                   "machine itself needs"};
constexpr Option option_rate = {.name = "rate",
                                .type = OptionType::text,
                                .argument = "RATE",
                                .help =
                                    "what each host can send, in bits per second (10mbit, 1gbit); without "
                                    "it as much as the machine can"};

constexpr std::array rows = {&option_name, &option_rtt, &option_rate, &lab::option_lab};

constexpr std::array examples = {
    Example{"sluice lab net a b --rtt=40ms --rate=200mbit", "Two hosts as if 4000 km apart."},
    Example{"ip netns exec a ping 10.77.0.2", "Runs a program on one of them."},
    Example{"sluice lab fault net stall", "Holds everything that is on its way; `release` lets it go on."},
    Example{"sluice lab down net", "Removes the net."},
};

std::string text_of(const Json& net, const Style& style) {
  Table table({{.title = "HOST"}, {.title = "NAMESPACE"}, {.title = "ADDRESS"}});
  for (const Json& host : net["hosts"]) {
    table.add({host.value("host", ""), host.value("namespace", ""), host.value("address", "")});
  }
  const Json& rate = net["rate"];
  return table.print(style) +
         fmt::format("\n{}: round trip {}, {}\nip netns exec {} ping {}\n", net.value("name", ""),
                     print(Duration::from_seconds(net.value("rtt", 0.0))),
                     rate.is_null() ? "no limit of the rate"
                                    : lab::print_bit_rate(rate.get<std::uint64_t>()) + " a host",
                     net["hosts"][0].value("host", ""), net["hosts"][1].value("address", ""));
}

Result<Output> run(const Context& context) {
  const Options& given = context.options;
  lab::NetOptions options{
      .name = given.text("name"), .hosts = given.operands(), .rtt = given.duration("rtt"), .rate = {}};
  if (given.given("rate")) {
    SLUICE_TRY(options.rate, lab::parse_bit_rate(given.text("rate")));
  }
  SLUICE_TRY(Json net, lab::make_net(lab::lab_folder(given), options));
  Output out;
  if (context.json) {
    out.json = std::move(net);
  } else {
    out.text = text_of(net, context.style);
  }
  return out;
}

}  // namespace

extern const Verb verb_lab_net = {
    .name = "lab net",
    .summary = "join hosts, which are network namespaces, by an emulated link",
    .operands = "HOST HOST...",
    .least_operands = 2,
    .most_operands = 200,
    .description =
        "Every HOST becomes a network namespace with an interface eth0; `ip netns exec HOST COMMAND` runs a "
        "program there. They share the machine's files and processors, but reach each other only through the "
        "link, and nothing else at all.\n\n"
        "A frame arrives half the round-trip time after it was sent. Frames do not wait for each other: many "
        "are on their way at once, as on a long cable. The rate is that of each host's interface (a token "
        "bucket, with a queue of a round trip's worth of data, at least 50 ms).\n\n"
        "While the net is up, `sluice lab fault NAME` disturbs it, and `sluice lab set NAME rtt=TIME` "
        "changes the "
        "round trip, for frames that are on their way too.\n\n"
        "The kernel may send up to 64 KiB as one frame; with a rate it sends them one by one.\n\n"
        "Needs root, and the package iproute2.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice

#include <fmt/format.h>

#include <array>

#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/volume_input.h"

namespace sluice {
namespace {

constexpr Option option_prometheus = {.name = "prometheus", .help = "as text for Prometheus"};
constexpr std::array rows = {&option_prometheus, &volume::option_volumes};
constexpr std::array examples = {Example{"sluice volume stat data", "Which tier answers how much."}};

// Every number, by its path; of rows with a name, the name is a label.
void scrape(const Json& json, const std::string& name, const std::string& labels, std::string& out) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      scrape(value, name + "_" + key, labels, out);
    }
  } else if (json.is_array()) {
    for (const Json& row : json) {
      scrape(row, name, fmt::format("{},tier=\"{}\"", labels, row.value("name", "")), out);
    }
  } else if (json.is_number()) {
    out += fmt::format("{}{{{}}} {}\n", name, labels, json.dump());
  }
}

Result<Output> run(const Context& context) {
  SLUICE_TRY(const volume::VolumeFolder folder, volume_of(context));
  Output out;
  SLUICE_TRY(out.json, ask_volume(folder, "stat"));
  if (context.options.flag("prometheus")) {
    scrape(out.json, "sluice_volume", fmt::format("volume=\"{}\"", folder.name()), out.text);
    return out;
  }
  const Json& json = out.json;
  const double seconds = json.at("seconds");
  out.text =
      fmt::format("{}: {} reads ({}), {} writes ({}), {} flushes in {}; processor {:.1f} %\n", folder.name(),
                  json.at("reads").get<std::uint64_t>(), human_size(json.at("read_bytes")),
                  json.at("writes").get<std::uint64_t>(), human_size(json.at("written_bytes")),
                  json.at("flushes").get<std::uint64_t>(), human_duration(seconds),
                  seconds > 0 ? json.at("cpu_seconds").get<double>() / seconds * 100 : 0);
  Table table({{.title = "TIER"},
               {.title = "HITS", .align = Align::right},
               {.title = "READ", .align = Align::right},
               {.title = "WRITTEN", .align = Align::right},
               {.title = "MOVED IN", .align = Align::right},
               {.title = "MOVED OUT", .align = Align::right},
               {.title = "LATENCY", .align = Align::right},
               {.title = "USED", .align = Align::right},
               {.title = "ERRORS", .align = Align::right}});
  for (const Json& tier : json.at("tiers")) {
    const double size = tier.at("size");
    table.add({tier.at("name"), fmt::format("{}", tier.at("hits").get<std::uint64_t>()),
               human_size(tier.at("read_bytes")), human_size(tier.at("written_bytes")),
               human_size(tier.at("moved_in")), human_size(tier.at("moved_out")),
               human_duration(tier.at("mean_latency")),
               fmt::format("{:.0f} %", size > 0 ? tier.at("used").get<double>() / size * 100 : 0),
               fmt::format("{}", tier.at("errors").get<std::uint64_t>())});
  }
  out.text += table.print(context.style);
  for (const auto& [reason, moved] : json.at("moved").items()) {
    if (moved.at("chunks").get<std::uint64_t>() > 0) {
      out.text += fmt::format("moved by {}: {} chunks, {}\n", reason, moved.at("chunks").get<std::uint64_t>(),
                              human_size(moved.at("bytes")));
    }
  }
  if (const auto returned = json.at("returned").get<std::uint64_t>(); returned > 0) {
    out.text += fmt::format("came back after a demotion: {} chunks\n", returned);
  }
  const auto queued = json.at("queued").get<std::uint64_t>();
  const auto pending = json.at("pending").get<std::uint64_t>();
  if (queued + pending > 0) {
    out.text += fmt::format("{} operations wait, {} of them for space\n", queued + pending, pending);
  }
  return out;
}

}  // namespace

extern const Verb verb_volume_stat = {
    .name = "volume stat",
    .summary = "what a volume and its tiers have done since they are served",
    .operands = "NAME",
    .least_operands = 1,
    .most_operands = 1,
    .description =
        "Requests, hits and bytes of each tier, what was moved and for which reason, how often a chunk came "
        "back after it had been demoted, and what the server took of the processor.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice

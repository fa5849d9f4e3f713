#include <fmt/format.h>

#include <array>
#include <chrono>
#include <thread>

#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/volume_input.h"

namespace sluice {
namespace {

constexpr Option option_dry = {.name = "dry-run", .help = "show what it would move"};
constexpr Option option_now = {.name = "now", .help = "run it now"};
constexpr Option option_policy = {.name = "policy",
                                  .type = OptionType::choice,
                                  .argument = "NAME",
                                  .range = "heat|hints|none",
                                  .help = "what moves chunks by itself"};
constexpr Option option_interval = {.name = "interval",
                                    .type = OptionType::duration,
                                    .argument = "TIME",
                                    .range = "1s..",
                                    .help = "between two runs"};
constexpr Option option_top = {.name = "top",
                               .type = OptionType::count,
                               .argument = "N",
                               .help = "how many of the hottest chunks are promoted"};
constexpr Option option_threshold = {.name = "threshold",
                                     .type = OptionType::text,
                                     .argument = "SCORE",
                                     .help = "the least score of a hot chunk"};
constexpr Option option_damping = {.name = "damping",
                                   .type = OptionType::text,
                                   .argument = "0..1",
                                   .help = "of scores at each run; 1 accumulates"};
constexpr Option option_keep = {.name = "keep-free",
                                .type = OptionType::text,
                                .argument = "0..1",
                                .help = "the share of each tier but the last that is kept free"};
constexpr Option option_place = {
    .name = "place",
    .type = OptionType::text,
    .argument = "JSON",
    .help =
        "a rule of where hints want chunks, instead of those before: "
        "{\"class\": \"metadata\", \"tier\": \"fast\"}; with below, from and pattern too",
    .repeatable = true};
constexpr std::array rows = {
    &option_dry,       &option_now,     &option_policy, &option_interval, &option_top,
    &option_threshold, &option_damping, &option_keep,   &option_place,    &volume::option_volumes};
constexpr std::array examples = {
    Example{"sluice volume policy data --dry-run", "What it would move, and why."},
    Example{"sluice volume policy data --policy hints --place '{\"below\": 10485760, \"tier\": \"fast\"}'",
            "Small files to the fast tier, as far as hints say which they are."}};

Result<Output> dry_run(const Context& context, const volume::VolumeFolder& folder, const Json& request) {
  SLUICE_CHECK(ask_volume(folder, "propose", request));
  Output out;
  for (int i = 0;; ++i) {
    SLUICE_TRY(out.json, ask_volume(folder, "propose"));
    if (!out.json.at("busy").get<bool>()) {
      break;
    }
    if (i == 1000) {
      return fail("the policy does not come to an end");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  out.json["name"] = folder.name();
  Table table(
      {{.title = "CHUNK", .align = Align::right}, {.title = "FROM"}, {.title = "TO"}, {.title = "WHY"}});
  for (const Json& row : out.json.at("proposals")) {
    table.add({fmt::format("{}", row.at("chunk").get<std::uint64_t>()), row.at("from"), row.at("to"),
               fmt::format("{}, score {:.1f}", row.at("reason").get<std::string>(),
                           row.at("score").get<double>())});
  }
  out.text = out.json.at("proposals").empty() ? "it would move nothing\n" : table.print(context.style);
  return out;
}

Result<Output> run(const Context& context) {
  const Options& options = context.options;
  SLUICE_TRY(const volume::VolumeFolder folder, volume_of(context));
  Json changes = Json::object();
  if (options.given("policy")) {
    changes["policy"] = options.text("policy");
  }
  if (options.given("interval")) {
    changes["interval"] = options.duration("interval").in_seconds();
  }
  if (options.given("top")) {
    changes["top"] = options.count("top");
  }
  for (const auto& [name, key] : {std::pair("threshold", "threshold"), std::pair("damping", "damping"),
                                  std::pair("keep-free", "keep_free")}) {
    if (options.given(name)) {
      SLUICE_TRY(const double number, parse_number(options.text(name)));
      if (number < 0 || (number > 1 && std::string_view(name) != "threshold")) {
        return bad_input(fmt::format("--{} cannot be {}", name, options.text(name)));
      }
      changes[key] = number;
    }
  }
  if (options.given("place")) {
    changes["placement"] = Json::array();
    for (const Options::Value& value : options.all("place")) {
      Json rule = Json::parse(value.text, nullptr, false);
      if (!rule.is_object()) {
        return bad_input(fmt::format("{} is no JSON object", quote(value.text)));
      }
      changes["placement"].push_back(std::move(rule));
    }
  }
  if (options.flag("dry-run")) {
    if (changes.size() > (changes.contains("policy") ? 1U : 0U) || options.flag("now")) {
      return bad_input("--dry-run goes with --policy alone");
    }
    return dry_run(context, folder, changes.contains("policy") ? changes : Json{{"now", false}});
  }
  Output out;
  SLUICE_TRY(out.json, ask_volume(folder, "configure", changes));
  if (options.flag("now")) {
    SLUICE_CHECK(ask_volume(folder, "propose", {{"now", true}}));
  }
  out.json["name"] = folder.name();
  for (const char* key : {"policy", "interval", "top", "threshold", "damping", "keep_free", "placement"}) {
    out.text += fmt::format("{} = {}\n", key, write_json(out.json.at(key)));
  }
  return out;
}

}  // namespace

extern const Verb verb_volume_policy = {
    .name = "volume policy",
    .summary = "look at a volume's policy, run it, or change it",
    .operands = "NAME",
    .least_operands = 1,
    .most_operands = 1,
    .description =
        "Without an option: the settings. --dry-run shows what it would move and why, and moves nothing; "
        "--now runs it. The other options change what is given, at once and for later.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice

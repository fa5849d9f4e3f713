#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/files.h"
#include "base/json.h"
#include "base/svg.h"
#include "cli/intent_input.h"
#include "cli/place_input.h"
#include "cli/plan_text.h"
#include "plan/json.h"
#include "plan/plan.h"

namespace sluice {
namespace {

constexpr Option explain = {.name = "explain", .help = "show the arithmetic behind every number"};
constexpr Option chart = {.name = "chart",
                          .type = OptionType::path,
                          .argument = "FILE.svg",
                          .help = "draw the throughput of the ten best places over the request size"};
constexpr Option io = {.name = "io",
                       .type = OptionType::choice,
                       .argument = "HOW",
                       .range = "direct|buffered|synced",
                       .help =
                           "whether each request waits for the storage, only for the page cache, or for the "
                           "storage's flush; without it direct, or synced where the intent says sync"};
constexpr Option streams = {.name = "streams",
                            .type = OptionType::count,
                            .argument = "N",
                            .range = "1..1024",
                            .help = "so many programs or threads at once, each as described; without it one"};
constexpr std::array rows = {
    &option_rules,   &option_sigdef,  &option_path,        &io,           &streams, &explain, &chart,
    &option_timeout, &option_catalog, &option_corrections, &option_system};

constexpr std::array examples = {
    Example{"sluice advise 'persist sequential size-per-IO(16MB) totalsize(6GB)'",
            "Where to write 6 GB that must survive a reboot."},
    Example{"sluice advise --explain temp random 'size-per-IO(4K)'",
            "The same for scratch data, with the arithmetic."},
    Example{"sluice advise sig journal --streams 4", "Four logs that a database flushes at every commit."},
    Example{"sluice advise --rules rules.toml --path out/step_1.dat",
            "Where the rules would have that file."},
    Example{"sluice advise --chart sizes.svg persist",
            "A picture: which place is fastest at which request size."},
};

// Throughput of the best places over request sizes from 512 B to 1 GiB, as forecast.
std::string chart_of(const Plan& plan) {
  constexpr std::size_t most = 10;
  Chart out{.title = "Forecast throughput: " + (plan.intent.empty() ? "any data" : print(plan.intent)),
            .x = {.title = "request size", .unit = Unit::bytes, .logarithmic = true},
            .y = {.title = "throughput", .unit = Unit::rate, .logarithmic = true},
            .series = {}};
  for (std::size_t i = 0; i < std::min(plan.ranking.size(), most); ++i) {
    const Ranked& row = plan.ranking[i];
    Series series{.name = fmt::format("{} ({})", row.place, row.source), .points = {}, .markers = false};
    Workload workload = plan.workload;
    for (int eighths = 9 * 8; eighths <= 30 * 8; ++eighths) {
      workload.request = static_cast<std::uint64_t>(std::exp2(eighths / 8.0));
      series.points.push_back(
          {.x = static_cast<double>(workload.request), .y = forecast(row, workload).rate});
    }
    out.series.push_back(std::move(series));
  }
  return draw(out);
}

Result<Usage> read_usage(const Options& options, const Intent& intent) {
  Usage out;
  const std::string how = options.text("io");
  for (const Mode mode : {Mode::direct, Mode::buffered, Mode::synced}) {
    if (how == print(mode)) {
      out.mode = mode;
    }
  }
  if (intent.is("sync") && out.mode && out.mode != Mode::synced) {
    return bad_input(fmt::format("--io {} contradicts 'sync' of the intent", how), "keep one of them");
  }
  if (options.given("streams")) {
    out.streams = static_cast<unsigned>(options.count("streams"));
  }
  return out;
}

Result<Output> run(const Context& context) {
  SLUICE_TRY(const IntentInput input, read_intent(context));
  SLUICE_TRY(const Usage usage, read_usage(context.options, input.merged.intent));
  SLUICE_TRY(const Storage storage, read_places(context, false, true));
  const Plan plan = make_plan(input.merged.intent, storage.found.places, storage.profiles, usage);
  if (const std::string file = context.options.text("chart"); !file.empty()) {
    SLUICE_CHECK(write_file(file, chart_of(plan)));
  }
  Output out;
  out.status = plan.ranking.empty() ? 1 : 0;
  if (context.json) {
    out.json = to_json(plan, storage.warnings);
  } else {
    out.text = advice_text(plan, context.options.flag("explain"), context.style);
  }
  return out;
}

}  // namespace

extern const Verb verb_advise = {
    .name = "advise",
    .summary = "which place suits an intent best, how fast it would be, and why",
    .operands = "[WORD]...",
    .least_operands = 0,
    .most_operands = 10000,
    .description =
        "Drops every place that breaks a constraint, forecasts the rest and ranks them by throughput; ties "
        "go to the "
        "more reliable, then to the emptier place. Space promised to earlier placements counts as used. "
        "Every place "
        "kept or rejected has its reason.\n\n"
        "Where a place has a profile (`sluice profile` takes one), the forecast comes from what was "
        "measured: "
        "SOURCE is `measured`. Elsewhere it is modelled from traits: latency, bandwidth, IOPS and block "
        "size, "
        "either configured in sluice.toml or defaults of the kind of device. A profile is stale, and not "
        "used, "
        "when kernel, file system, mount options, device or scheduler have changed since. Either is "
        "corrected "
        "by what programs took there under `sluice run`: SOURCE is then `learned`. --explain shows "
        "all "
        "ways. LOW and HIGH say how far the truth may be off. What the intent leaves unsaid is assumed and "
        "shown. Exit status 1 means that no place can take the data.",
    .options = rows,
    .examples = examples,
    .sections = vocabulary_section,
    .run = run,
};

}  // namespace sluice

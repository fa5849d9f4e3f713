#include "replay/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/trace_input.h"
#include "cli/verb.h"
#include "intent/rules.h"
#include "places/discover.h"
#include "replay/report.h"

namespace sluice {
namespace {

constexpr Option option_folder = {.name = "to",
                                  .type = OptionType::path,
                                  .argument = "FOLDER",
                                  .fallback = ".",
                                  .help = "where: the replay makes a folder of its own in this one"};
constexpr Option option_pace = {
    .name = "pace",
    .type = OptionType::text,
    .argument = "PACE",
    .fallback = "original",
    .help = "the time between operations: original, fast (none), or how many times as fast, such as 2"};
constexpr Option option_stage = {
    .name = "stage",
    .letter = 's',
    .type = OptionType::text,
    .argument = "STAGE",
    .help = "a stage that the files pass, as `sluice run` has it; several in the order of the I/O",
    .repeatable = true};
constexpr Option option_plan = {
    .name = "plan",
    .type = OptionType::flag,
    .help = "rules that have an intent and no stages get those that a plan chooses"};
constexpr Option option_compare = {.name = "compare",
                                   .type = OptionType::flag,
                                   .help = "without and with the stages, in alternation, and what they gain"};
constexpr Option option_repeat = {.name = "repeat",
                                  .type = OptionType::count,
                                  .argument = "N",
                                  .range = "1..1000",
                                  .fallback = "3",
                                  .help = "with --compare: how often each"};
constexpr Option option_cold = {
    .name = "cold",
    .type = OptionType::flag,
    .help = "drop the files that are made beforehand from the page cache; as root all of it"};
constexpr Option option_keep = {
    .name = "keep", .type = OptionType::flag, .help = "leave the folder, and say where it is"};
const std::array rows = {&option_folder,  &option_pace,   &option_stage, &option_rules, &option_plan,
                         &option_compare, &option_repeat, &option_cold,  &option_keep,  &option_point};

constexpr std::array examples = {
    Example{"sluice replay run.trace", "What the program did, again, here."},
    Example{"sluice replay run.trace --to /mnt/disk --pace fast --cold",
            "On another place, without the time between operations and with nothing cached."},
    Example{"sluice replay run.trace --stage writeback --compare --repeat 5",
            "What a stage would gain, without the program."},
};

// Where there is more room, by what this machine has mounted.
std::string other_places(const Context& context) {
  auto found = discover(context.config);
  std::vector<Place> places = found ? std::move(found->places) : std::vector<Place>();
  std::erase_if(places, [](const Place& place) { return !place.writable || !place.free.value; });
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.free.value_or(0) > b.free.value_or(0); });
  std::vector<std::string> out;
  for (const Place& place : places) {
    constexpr std::size_t most = 3;
    if (out.size() < most) {
      out.push_back(fmt::format("{} has {}", quote(place.path), human_size(place.free.value_or(0))));
    }
  }
  return fmt::format("--to names a folder on another place{}{}", out.empty() ? "" : ": ", join(out, ", "));
}

Result<Output> replay_it(const Context& context) {
  const Options& options = context.options;
  const std::string& path = options.operands().front();
  ReplaySettings settings;
  SLUICE_TRY(settings.pace, ReplayPace::parse(options.text("pace")));
  settings.to = options.text("to");
  for (const Options::Value& value : options.all("stage")) {
    settings.stages.push_back(value.text);
  }
  for (const Options::Value& value : options.all("rules")) {
    settings.rules.push_back(value.text);
  }
  settings.plan = options.flag("plan");
  settings.cold = options.flag("cold");
  settings.keep = options.flag("keep");
  settings.point = options.text("point");
  if (options.given("config")) {
    settings.run_options.push_back("--config=" + options.text("config"));
  }
  const bool compare = options.flag("compare");
  if (compare && settings.stages.empty() && settings.rules.empty()) {
    return bad_input("--compare is about stages, and there are none", "give --stage or --rules, too");
  }
  Progress progress;
  settings.progress = [&](const std::string& text) { progress.show(text); };
  Output out;
  const auto warn = [&](const Replayed& one) {
    if (!one.trouble.empty()) {
      log::warn("{} is not whole: {}; what is there was replayed", quote(path), one.trouble);
    }
  };
  const auto say_where = [&](const std::vector<Replayed>& all) {
    for (const Replayed& one : settings.keep ? all : std::vector<Replayed>()) {
      log::warn("replay: what it wrote is in {}", quote(one.folder));
    }
  };
  if (compare) {
    SLUICE_TRY(const ReplayComparison both,
               compare_replays(path, settings, static_cast<unsigned>(options.count("repeat"))));
    warn(both.with.back());
    say_where(both.without);
    say_where(both.with);
    out.text = comparison_text(both, context.style);
    out.json = comparison_json(both);
  } else {
    SLUICE_TRY(const Replayed one, replay(path, settings));
    warn(one);
    say_where({one});
    out.text = replay_text(one, context.style);
    out.json = replay_json(one);
  }
  return out;
}

Result<Output> run(const Context& context) {
  const Stop stop;
  auto out = replay_it(context);
  if (!out && Stop::signal_number() != 0) {
    log::warn("replay: ended by a signal; {}",
              context.options.flag("keep") ? "of the replays that were whole, the folders are still there"
                                           : "what it made is removed");
    Output ended;
    ended.ended = Stop::signal_number();  // as waitpid() has it
    return ended;
  }
  if (!out && out.error().number == ENOSPC) {
    return std::move(out).error().advise(other_places(context));
  }
  return out;
}

}  // namespace

extern const Verb verb_replay = {
    .name = "replay",
    .summary = "do again what a traced program did, here or on another place",
    .operands = "TRACE",
    .least_operands = 1,
    .most_operands = 1,
    .description =
        "Does the operations of every process and thread of a trace again, each after what it came after, "
        "with the "
        "same sizes and offsets and with contents that are made up, and compares the times. The files of the "
        "trace are "
        "not touched: all is done in a folder of its own, in which what the program found is made "
        "beforehand, and "
        "which is removed at the end.\n\n"
        "With --stage or --rules the files pass stages, as under `sluice run`; the globs of rules mean the "
        "paths that "
        "are in the trace. --compare replays without and with them in alternation and tells the gain: what a "
        "stage "
        "would do for a program, without the program.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice

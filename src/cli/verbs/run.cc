#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/files.h"
#include "base/log.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/intent_input.h"
#include "cli/json_file.h"
#include "cli/predict.h"
#include "cli/remember_run.h"
#include "cli/run_placed.h"
#include "cli/run_plan.h"
#include "cli/verb.h"
#include "pipeline/stack.h"
#include "run/account.h"
#include "run/keeper.h"
#include "run/launch.h"
#include "run/mounts.h"
#include "run/shared.h"
#include "run/tracer.h"

namespace sluice {
namespace {

constexpr Option option_stage = {
    .name = "stage",
    .letter = 's',
    .type = OptionType::text,
    .argument = "STAGE",
    .help =
        "a stage that the files pass, as NAME or NAME:PARAMETER=VALUE,...; "
        "several in the order of the I/O, the "
        "first nearest to the program. `stats` stands above them where none of them is it, for the account",
    .repeatable = true};
constexpr Option option_files = {.name = "files",
                                 .letter = 'f',
                                 .type = OptionType::text,
                                 .argument = "GLOB",
                                 .help = "only files whose absolute path matches",
                                 .repeatable = true};
constexpr Option option_plan = {.name = "plan",
                                .type = OptionType::flag,
                                .help =
                                    "rules that have an intent and no stages get those that a plan chooses, "
                                    "by what is known of the places"};
constexpr Option option_explain = {.name = "explain",
                                   .type = OptionType::flag,
                                   .help = "with --plan: tell before the start what it chose, and why"};
constexpr Option option_quiet = {.name = "quiet",
                                 .letter = 'q',
                                 .type = OptionType::flag,
                                 .help = "no account on standard error at the end"};
constexpr Option option_memory = {.name = "memory",
                                  .type = OptionType::size,
                                  .argument = "SIZE",
                                  .range = "1M..1G",
                                  .fallback = "64M",
                                  .help = "how much stages may keep back of all files together, in memory"};
constexpr Option option_trace = {.name = "trace",
                                 .type = OptionType::path,
                                 .argument = "FILE",
                                 .help =
                                     "record every call in this file, which must not be there yet; `sluice "
                                     "trace` looks into it"};
constexpr Option option_hash = {.name = "hash-paths",
                                .type = OptionType::flag,
                                .help = "with --trace: no path is recorded, only what tells them apart"};
constexpr Option option_sites = {
    .name = "sites",
    .type = OptionType::flag,
    .help =
        "with --trace: record from where in the program each file is opened, for "
        "`sluice learn --as pragmas`"};
constexpr Option option_managed = {
    .name = "only-managed",
    .type = OptionType::flag,
    .help =
        "do not run the command where there is no memory to manage its files with; it runs natively else"};
constexpr std::array rows = {&option_rules,   &option_plan,       &option_explain, &option_stage,
                             &option_files,   &option_trace,      &option_hash,    &option_sites,
                             &option_memory,  &option_managed,    &option_quiet,   &option_timeout,
                             &option_catalog, &option_corrections};

constexpr std::array examples = {
    Example{"sluice run -- tar cf /tmp/etc.tar /etc", "What tar reads and writes, file by file."},
    Example{"sluice run --files '/tmp/**' -- sort -o /tmp/sorted /etc/services", "Only what is below /tmp."},
    Example{"sluice run --rules rules.toml -- ./simulation", "Files pass the stages of their rules."},
    Example{"sluice run --rules rules.toml --plan --explain -- ./simulation",
            "Files pass the stages that suit what their rules say of them."},
    Example{"sluice run --stage stats --stage delay:time=2ms,operations=sync -- sync-happy-program",
            "Each flush takes 2 ms longer, and what that costs."},
    Example{"sluice run --stage error:operations=write,errno=ENOSPC,after=100 -- ./simulation",
            "Does the program notice that the disk is full?"},
};

std::vector<std::string> texts(const Options& options, std::string_view name) {
  std::vector<std::string> out;
  for (const Options::Value& value : options.all(name)) {
    out.push_back(value.text);
  }
  return out;
}

// A glob that is not absolute is relative to where we are, whatever that folder is called.
// A folder alone matches none of its files, and is what people write.
Result<Glob> files_of(const std::string& glob) {
  SLUICE_TRY(const std::string whole, Glob::whole(glob, current_folder()));
  struct stat found {};
  if (stat(whole.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) {
    return bad_input(fmt::format("--files {} is a folder, and no file is called so", quote(glob)),
                     fmt::format("write --files '{}/**' for all in it", whole == "/" ? "" : whole));
  }
  return Glob::parse(whole);
}

// The program may change its folder before a library is loaded.
void make_whole(std::vector<std::string>& stages) {
  for (std::string& stage : stages) {
    if (stage.find('/') < stage.find(':') && !stage.starts_with('/')) {
      stage = fmt::format("{}/{}", current_folder(), stage);
    }
  }
}

// Stages of a plan that do not go with those that are given.
Error clash(const StagePlan& planned, Error why) {
  std::vector<std::string> chosen;
  for (const StageChoice& choice : planned.stages) {
    chosen.push_back(choice.stage.substr(0, choice.stage.find(':')));
  }
  return bad_input(fmt::format("the plan chose {} for these files, below what --stage names, and {}",
                               join(chosen, " and "), why.what),
                   "leave that --stage out, or say the stages of these files in the rule: stages = "
                   "[\"stats\"]");
}

bool has_stage(const std::vector<std::string>& stages, std::string_view name) {
  return std::any_of(stages.begin(), stages.end(),
                     [&](const std::string& spec) { return spec.substr(0, spec.find(':')) == name; });
}

// Whether, and where, `stats` is to stand above a stack, so that the account says what the program did.
struct Counting {
  bool wanted = true;  // not where nobody gets the account: it costs more than a write that is kept back
  bool placed = true;  // by --stage there are stages, and who named a `stats` has it where he wants it
  std::size_t room = most_stages;

  [[nodiscard]] std::vector<std::string> above(std::vector<std::string> stages) const {
    const bool counted = placed ? has_stage(stages, "stats")
                                : std::any_of(stages.begin(), stages.end(), [](const std::string& spec) {
                                    return has_stage({spec}, "stats") && point_of(spec) == default_point;
                                  });
    if ((wanted || stages.empty()) && !counted && stages.size() < room) {
      stages.insert(stages.begin(), "stats");
    }
    return stages;
  }
};

// What the rules and the plan say of stages, the strongest rule first, below those that all files pass.
Result<std::vector<Stacked>> stacks_of_rules(const Rules& rules, const RunPlan& plan,
                                             const std::vector<std::string>& above,
                                             const Counting& counting) {
  std::vector<Stacked> out;
  for (const Rule* rule : rules.by_strength()) {
    const StagePlan* planned = plan.of(*rule);
    if (rule->stages.empty() && planned == nullptr) {
      continue;
    }
    std::vector<std::string> stages = above;
    stages.insert(stages.end(), rule->stages.begin(), rule->stages.end());
    for (const StageChoice& choice : planned == nullptr ? std::vector<StageChoice>() : planned->stages) {
      stages.push_back(choice.stage);
    }
    make_whole(stages);
    if (Status checked = check_stages(stages); !checked) {
      Error error = std::move(checked).error();
      return (planned == nullptr ? std::move(error) : clash(*planned, std::move(error))).within(rule->origin);
    }
    out.push_back({.files = rule->glob, .stages = counting.above(std::move(stages))});
  }
  return out;
}

// Names of the places in stacks at which calls are recorded; each stack has one at least.
Result<std::vector<std::string>> trace_points(const Options& options, std::vector<Stacked>& rules) {
  constexpr std::string_view stage = "trace";
  const bool traced = options.given("trace");
  if (options.flag("hash-paths") && !traced) {
    return bad_input("--hash-paths is about a trace, and there is none", "give --trace FILE, too");
  }
  if (options.flag("sites") && !traced) {
    return bad_input("--sites is about a trace, and there is none", "give --trace FILE, too");
  }
  if (options.flag("sites") && options.flag("hash-paths")) {
    return bad_input("--sites records the paths of programs and libraries, and --hash-paths no path",
                     "leave one of them out");
  }
  for (Stacked& rule : rules) {
    const bool named = has_stage(rule.stages, stage);
    if (traced && !named) {
      rule.stages.insert(rule.stages.begin(), std::string(stage));
    }
    if (rule.stages.size() > most_stages) {
      return bad_input(fmt::format("too many stages: with {} there may be {}", stage, most_stages),
                       "leave some out");
    }
    if (!traced && named) {
      return bad_input("stage trace records calls, and there is no file for them", "give --trace FILE");
    }
  }
  return points_of(rules, stage);
}

// Rules that can have no effect here are a mistake.
Status check_rules(const Options& options, const Rules& rules) {
  const bool plan = options.flag("plan");
  if (options.flag("explain") && !plan) {
    return bad_input("--explain tells of the plan, and there is none", "give --plan, too");
  }
  const auto any = [&](auto&& wanted) {
    return std::any_of(rules.rules().begin(), rules.rules().end(), wanted);
  };
  if (plan && !any([](const Rule& rule) { return rule.stages.empty() && !rule.intent.empty(); })) {
    return bad_input(options.given("rules") ? "--plan: none of the rules has an intent and no stages"
                                            : "--plan needs rules that say an intent",
                     "write path = \"out/**\" and intent = \"...\" below [[rule]] in a file, and name it by "
                     "--rules");
  }
  if (!plan && options.given("rules") && !any([](const Rule& rule) { return !rule.stages.empty(); })) {
    return bad_input("none of the rules has stages",
                     "add stages = [\"stats\"] to those whose files are meant, or have a plan choose them: "
                     "--plan");
  }
  return {};
}

Output not_started(const Error& why) {
  log::error("run: {}", why.text());
  Output out;
  out.status = why.number == ENOENT ? not_found : cannot_run;
  return out;
}

// The command without Sluice's part, which failed (promise 2). Not where the stages were to keep it from its
// files, or where what they see is all that was asked for.
Result<Output> run_natively(const Context& context, const std::vector<Stacked>& rules,
                            const JsonFile& json_to, Json account, Error why) {
  std::string needed = context.options.given("trace") ? "--trace" : "";
  for (const Stacked& rule : rules) {
    needed = needed.empty() ? cannot_be_left_out(rule.stages) : needed;
  }
  if (why.usage || context.options.flag("only-managed")) {
    return why;
  }
  if (!needed.empty()) {
    return std::move(why).within(
        fmt::format("the command was not run, as {} cannot be done without", needed));
  }
  log::warn("run: nothing is managed, and the command runs natively: {}", why.text());
  const auto ended = launch(context.options.operands(), {});
  if (!ended) {
    return not_started(ended.error());
  }
  Output out;
  out.status = exit_status(*ended);
  out.ended = ended->status;
  account["native"] = why.text();
  account["status"] = out.status;
  account["seconds"] = ended->seconds;
  if (const Status written = json_to ? json_to.write(account) : Status(); !written) {
    log::error("run: {}", written.error().text());
    out.status = out.status == 0 ? failed_itself : out.status;
  }
  return out;
}

Result<Output> run(const Context& context) {
  std::vector<std::string> named = texts(context.options, "stage");
  make_whole(named);
  SLUICE_CHECK(check_stages(named));
  const bool quiet = context.options.flag("quiet");
  const bool wants_account = !quiet || !context.options.text("json").empty();
  const Counting counting{.wanted = wants_account,
                          .placed = !named.empty(),
                          .room = most_stages - (context.options.given("trace") ? 1 : 0)};
  const std::vector<std::string> stages = counting.above(named);
  Rules given;
  for (const std::string& file : texts(context.options, "rules")) {
    SLUICE_CHECK(given.load(file));
  }
  SLUICE_CHECK(check_rules(context.options, given));
  SLUICE_CHECK(check_constraints(context, given));
  const RunPlan plan = context.options.flag("plan") ? plan_run(context, given) : RunPlan();
  SLUICE_TRY(std::vector<Stacked> rules, stacks_of_rules(given, plan, named, counting));
  std::vector<std::string> globs = texts(context.options, "files");
  if (globs.empty() && rules.empty()) {
    globs.emplace_back("/**");
  }
  for (const std::string& glob : globs) {
    if (glob.empty()) {
      return bad_input("--files has no glob", "write one, such as 'out/**', or leave the option out");
    }
    SLUICE_TRY(Glob files, files_of(glob));
    rules.push_back({.files = std::move(files), .stages = stages});
  }
  SLUICE_TRY(const JsonFile json_to, JsonFile::open(context.options.text("json")));
  SLUICE_TRY(const std::string library, preload_library());
  const bool keeps =
      std::any_of(rules.begin(), rules.end(), [](const Stacked& rule) { return needs_keeper(rule.stages); });
  std::vector<AreaMount> mounts;
  if (keeps) {
    SLUICE_TRY(mounts, local_mounts(context.config));
  }
  const std::uint64_t memory = context.options.count("memory");
  const std::vector<PlacedFile> placed_before = placed_for_run(context);
  SLUICE_TRY(std::vector<std::string> points, trace_points(context.options, rules));
  const auto natively = [&](Error why) {
    Json json = account_json({});
    json["plan"] = plan_json(plan);
    json["placed"] = changes_json({});
    json["stages"] = stages;
    json["unseen"] = 0;
    return run_natively(context, rules, json_to, std::move(json), std::move(why));
  };
  auto made = SharedArea::make(rules, {.memory = keeps ? memory : 0,
                                       .mounts = std::move(mounts),
                                       .names = !placed_before.empty(),
                                       .trace_points = std::move(points)});
  if (!made) {
    return natively(std::move(made).error());
  }
  const SharedArea shared = std::move(*made);
  const PlacedFiles placed(shared.area(), placed_before);
  if (placed.links() > 0) {
    log::warn(
        "run: placed files that are seen as links, as their paths are too long or they are too many: {}",
        placed.links());
  }
  Keeper keeper(shared.area());
  if (Status started = keeps ? keeper.start() : Status(); !started) {
    return natively(std::move(started).error());
  }
  std::optional<Tracer> tracer;
  if (const std::string path = context.options.text("trace"); !path.empty()) {
    SLUICE_TRY(TraceWriter writer, TraceWriter::create(path));
    tracer.emplace(shared.area(), std::move(writer), path,
                   Tracer::Settings{.hash_paths = context.options.flag("hash-paths"),
                                    .sites = context.options.flag("sites")});
    SLUICE_CHECK(tracer->start(context.options.operands()));
  }
  if (context.options.flag("explain")) {
    tell(plan_text(plan));
  }
  shared.area().programs = 1;
  const std::string before = environment("LD_PRELOAD");
  std::optional<Unhurried> unhurried;
  if (keeps || tracer) {
    unhurried.emplace();
  }
  const auto ended = launch(context.options.operands(),
                            {{"LD_PRELOAD", before.empty() ? library : fmt::format("{}:{}", library, before)},
                             {"SLUICE_RUN", shared.path()}},
                            nullptr, [&] { keeper.settle(); });
  Output out;
  bool lacking = false;  // data that the program wrote, or its account, is not where it belongs
  const std::vector<Recovered> odd = keeps ? keeper.finish() : std::vector<Recovered>();
  for (const std::string& line : describe(odd)) {
    log::warn("run: {}", line);
  }
  std::optional<Traced> traced;
  if (tracer) {
    auto finished = tracer->finish(ended ? exit_status(*ended) : -1, ended ? ended->seconds : 0);
    if (finished) {
      traced = std::move(*finished);
    } else {
      log::error("run: the trace is not whole: {}", finished.error().text());
      lacking = true;
    }
  }
  const std::vector<PlacedFiles::Change> changes = placed.changes();
  follow_run(context, changes);
  unhurried.reset();
  for (const Recovered& one : odd) {
    lacking = lacking || one.outcome == Recovered::Outcome::failed ||
              one.outcome == Recovered::Outcome::beside || one.outcome == Recovered::Outcome::stays ||
              one.outcome == Recovered::Outcome::lost;
  }
  if (!ended) {
    return not_started(ended.error());
  }
  Account account = account_of(shared.area(), ended->seconds);
  if (!account.files.empty() && wants_account) {
    const auto storage = survey_for_run(context);
    if (storage) {
      predict(account, *storage);
      remember_run(context, account, rules, *storage, ended->fetched);
    }
  }
  const std::string unseen = unseen_text(account, context.options.operands());
  if (!quiet) {
    const auto any_has = [&](std::string_view stage) {
      return std::any_of(rules.begin(), rules.end(),
                         [&](const Stacked& rule) { return has_stage(rule.stages, stage); });
    };
    std::string text = done_text(account);
    const bool wrote = std::any_of(account.files.begin(), account.files.end(),
                                   [](const FileAccount& file) { return file.write.calls > 0; });
    if (any_has("writeback") && account.kept.writes == 0 && wrote) {
      text += fmt::format("sluice: writeback kept nothing back; it leaves alone {}\n",
                          fmt::join(account.kept.not_of, ", and "));
    }
    if (any_has("stats")) {
      text = account_text(account, style_of(STDERR_FILENO, ColourChoice::automatic)) + text;
    } else if (text.empty() && !account.is_blind()) {
      text = fmt::format("sluice: it took {}; --stage stats would tell what it did\n",
                         human_duration(account.seconds));
    }
    if (traced) {
      text += fmt::format("sluice: {} {} in {}, {}; `sluice trace stats` sums them up\n",
                          plural(traced->events, "call"), traced->events == 1 ? "is" : "are",
                          quote(traced->path), human_size(traced->bytes));
    }
    tell(text + changes_text(changes) + (unseen.empty() ? "" : fmt::format("sluice: {}\n", unseen)));
  }
  if (json_to) {
    Json json = account_json(account);
    json["plan"] = plan_json(plan);
    json["placed"] = changes_json(changes);
    json["status"] = exit_status(*ended);
    json["stages"] = stages;
    json["unseen"] = account.unseen;
    if (const Status written = json_to.write(json); !written) {
      log::error("run: {}", written.error().text());
      lacking = true;
    }
  }
  out.status = exit_status(*ended);
  out.ended = ended->status;
  if (lacking && out.status == 0) {
    out.status = failed_itself;
  }
  return out;
}

}  // namespace

extern const Verb verb_run = {
    .name = "run",
    .summary = "run a program with its I/O passing through stages",
    .operands = "-- COMMAND [ARGUMENT...]",
    .least_operands = 1,
    .most_operands = 1000000,
    .description =
        "Starts the command with Sluice between it and libc. The calls that it makes on regular files, by "
        "stdio too, "
        "pass the stages; calls on other files cost a few nanoseconds. Its standard streams and its exit "
        "status are "
        "its own, signals are passed on, and when a signal ended it, Sluice ends by the same. At the end a "
        "short "
        "account goes to standard error: what was read and written, how large, in what pattern and how long "
        "it "
        "took.\n\n"
        "Without --stage it is `stats`, which changes nothing, and which stands above other stages, too, "
        "where "
        "none of them is `stats` and the account is wanted: --quiet without --json does without. With "
        "--rules, files pass the stages of the "
        "strongest rule "
        "that names them and has some, below those of --stage; --files adds others, which pass those of "
        "--stage alone. With --plan, a rule that has an intent and no stages counts as one that names those "
        "that the "
        "plan chooses. "
        "Programs that are linked statically, and what "
        "others do "
        "without libc, are not seen.\n\n"
        "Exit status: the command's, 125 where Sluice itself failed or the command ended with 0 and "
        "something "
        "that it wrote is not where it belongs, 126 where the command cannot be run, "
        "127 where "
        "there is no such command.",
    .options = rows,
    .examples = examples,
    .run = run,
    .runs_program = true,
};

}  // namespace sluice

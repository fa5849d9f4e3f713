#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/files.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/intent_input.h"
#include "cli/json_file.h"
#include "cli/predict.h"
#include "cli/run_plan.h"
#include "cli/verb.h"
#include "run/account.h"
#include "run/keeper.h"
#include "run/launch.h"
#include "run/mounts.h"
#include "run/shared.h"

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
        "first nearest to the program; `stats` where none is given, and above those of the rules",
    .repeatable = true};
constexpr Option option_files = {.name = "files",
                                 .letter = 'f',
                                 .type = OptionType::text,
                                 .argument = "GLOB",
                                 .help = "only files whose absolute path matches; may be given several times",
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
constexpr std::array rows = {&option_rules,  &option_plan,  &option_explain, &option_stage,  &option_files,
                             &option_memory, &option_quiet, &option_timeout, &option_catalog};

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

constexpr int failed_itself = 125;
constexpr int cannot_run = 126;
constexpr int not_found = 127;

std::vector<std::string> texts(const Options& options, std::string_view name) {
  std::vector<std::string> out;
  for (const Options::Value& value : options.all(name)) {
    out.push_back(value.text);
  }
  return out;
}

void tell(const std::string& text) {
  [[maybe_unused]] const ssize_t told = sys().write(STDERR_FILENO, text.data(), text.size());
}

// A glob that is not absolute is relative to where we are, whatever that folder is called.
std::string whole_glob(const std::string& glob) {
  return glob.starts_with('/') ? glob : fmt::format("{}/{}", Glob::literal(current_folder()), glob);
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

// What the rules and the plan say of stages, the strongest rule first, below those that all files pass.
Result<std::vector<Stacked>> stacks_of_rules(const Rules& rules, const RunPlan& plan,
                                             const std::vector<std::string>& above) {
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
    out.push_back({.files = rule->glob, .stages = std::move(stages)});
  }
  return out;
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

Result<Output> run(const Context& context) {
  std::vector<std::string> stages = texts(context.options, "stage");
  if (stages.empty()) {
    stages.emplace_back("stats");
  }
  make_whole(stages);
  SLUICE_CHECK(check_stages(stages));
  Rules given;
  for (const std::string& file : texts(context.options, "rules")) {
    SLUICE_CHECK(given.load(file));
  }
  SLUICE_CHECK(check_rules(context.options, given));
  const RunPlan plan = context.options.flag("plan") ? plan_run(context, given) : RunPlan();
  SLUICE_TRY(std::vector<Stacked> rules, stacks_of_rules(given, plan, stages));
  std::vector<std::string> globs = texts(context.options, "files");
  if (globs.empty() && rules.empty()) {
    globs.emplace_back("/**");
  }
  for (const std::string& glob : globs) {
    SLUICE_TRY(Glob files, Glob::parse(whole_glob(glob)));
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
  SLUICE_TRY(const SharedArea shared, SharedArea::make(rules, keeps ? memory : 0, mounts));
  Keeper keeper(shared.area());
  if (keeps) {
    SLUICE_CHECK(keeper.start());
  }
  if (context.options.flag("explain")) {
    tell(plan_text(plan));
  }
  const std::string before = environment("LD_PRELOAD");
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
  for (const Recovered& one : odd) {
    lacking = lacking || one.outcome == Recovered::Outcome::failed ||
              one.outcome == Recovered::Outcome::beside || one.outcome == Recovered::Outcome::stays;
  }
  if (!ended) {
    log::error("run: {}", ended.error().text());
    out.status = ended.error().number == ENOENT ? not_found : cannot_run;
    return out;
  }
  Account account = account_of(shared.area(), ended->seconds);
  if (!account.files.empty() && (json_to || !context.options.flag("quiet"))) {
    const auto storage = survey_for_run(context);
    if (storage) {
      predict(account, *storage);
    }
  }
  if (!context.options.flag("quiet")) {
    const bool counted = std::any_of(rules.begin(), rules.end(), [](const Stacked& rule) {
      return std::find(rule.stages.begin(), rule.stages.end(), "stats") != rule.stages.end();
    });
    std::string text = done_text(account);
    if (counted) {
      text = account_text(account, style_of(STDERR_FILENO, ColourChoice::automatic)) + text;
    } else if (text.empty()) {
      text = fmt::format("sluice: it took {}; --stage stats would tell what it did\n",
                         human_duration(account.seconds));
    }
    tell(text);
  }
  if (json_to) {
    Json json = account_json(account);
    json["plan"] = plan_json(plan);
    json["status"] = exit_status(*ended);
    json["stages"] = stages;
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
        "Without --stage it is `stats`, which changes nothing. With --rules, files pass the stages of the "
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

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "base/files.h"
#include "base/stop.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/json_file.h"
#include "cli/run_plan.h"
#include "cli/trace_input.h"
#include "cli/verb.h"
#include "replay/scratch.h"
#include "tune/text.h"
#include "tune/tuning.h"

namespace sluice {
namespace {

constexpr Option option_dry = {.name = "dry-run",
                               .type = OptionType::flag,
                               .help = "the operand is a trace: say what would be done, and run nothing"};
constexpr Option option_repeat = {
    .name = "repeat",
    .type = OptionType::count,
    .argument = "N",
    .range = "0..100",
    .fallback = "0",
    .help =
        "compare N runs as it is with N under the rules, in turn, N from 2 on; 0: as many as it takes to be "
        "sure, 6 to 16, and 4 where those would take more than 20 minutes"};
constexpr Option option_before = {
    .name = "before",
    .type = OptionType::text,
    .argument = "COMMAND",
    .help = "what the shell is to do before each run, to put outputs back: 'rm -rf out'"};
constexpr Option option_caches = {
    .name = "caches",
    .type = OptionType::choice,
    .argument = "WHAT",
    .range = "auto|drop|keep",
    .fallback = "auto",
    .help =
        "whether the page cache of the machine is dropped before each run, which root may; auto does with "
        "--repeat N. Where it is not, a first pair of runs does not count"};
constexpr Option option_replay = {
    .name = "replay",
    .type = OptionType::duration,
    .argument = "TIME",
    .range = "0s..7d",
    .fallback = "2m",
    .help = "how long replays may take in all; 0s: the model alone says what helps"};
constexpr Option option_limit = {.name = "limit",
                                 .type = OptionType::duration,
                                 .argument = "TIME",
                                 .range = "1s..30d",
                                 .help =
                                     "end a run of the command that takes longer; without it, ten times the "
                                     "first run, and at least a minute"};
constexpr Option option_output = {.name = "output",
                                  .letter = 'o',
                                  .type = OptionType::path,
                                  .argument = "FILE",
                                  .fallback = "tuned.toml",
                                  .help = "where the rules go that made it better; must not be there yet"};
constexpr Option option_trace = {.name = "trace",
                                 .type = OptionType::path,
                                 .argument = "FILE",
                                 .help = "keep the trace there; must not be there yet"};
constexpr Option option_report = {.name = "report",
                                  .type = OptionType::path,
                                  .argument = "FILE",
                                  .help = "write a page that tells all of it; it opens from the file"};
constexpr Option option_yes = {
    .name = "yes",
    .letter = 'y',
    .type = OptionType::flag,
    .help = "do not ask before data that is not temporary is made elsewhere, moved, or seen later by others"};
constexpr std::array rows = {&option_dry,    &option_repeat, &option_before,  &option_caches,
                             &option_replay, &option_limit,  &option_output,  &option_trace,
                             &option_report, &option_yes,    &option_timeout, &option_catalog};

constexpr std::array examples = {
    Example{"sluice tune --before 'rm -f out.dat' -- ./simulation out.dat",
            "Watched once, understood, and run under what came out and as it is in turn, until it is sure "
            "which is "
            "faster."},
    Example{"sluice tune --repeat 5 --before 'rm -rf out' --report tune.html -- ./simulation out",
            "Five runs of each kind, each with a cold page cache where root says so, and a page about it."},
    Example{"sluice tune --dry-run run.trace",
            "What would help a program that was traced, without running it."},
};

// A folder of ours, gone at the end; one of a command that was killed goes now.
Result<Scratch> make_scratch() {
  const std::string folder = environment("TMPDIR").empty() ? "/tmp" : environment("TMPDIR");
  auto out = Scratch::make(folder, "sluice-tune-");
  if (!out) {
    return fail(out.error().number, fmt::format("cannot make a folder in {}", quote(folder)))
        .advise("TMPDIR may name another folder");
  }
  return out;
}

// That it cannot be written is said before anything is done.
Status must_be_possible(const std::string& path, std::string_view option) {
  if (path.empty()) {
    return {};
  }
  if (sys().access(path.c_str(), F_OK) == 0) {
    return bad_input(fmt::format("{} is there already", quote(path)),
                     fmt::format("remove it, or name another file by {}", option));
  }
  const std::string folder = folder_of(absolute(path, current_folder()));
  if (sys().access(folder.c_str(), W_OK | X_OK) != 0) {
    return Errno()
        .fail(fmt::format("cannot make {}", quote(path)))
        .advise(fmt::format("{} names a file in a folder that can be written to", option));
  }
  return {};
}

TuneSettings settings_of(const Context& context) {
  const Options& options = context.options;
  TuneSettings out;
  out.replays = options.duration("replay").in_seconds();
  out.report = options.text("report");
  out.survey = [&context] { return survey_for_run(context); };
  return out;
}

// What is known after the trace: without a program.
Result<Output> dry_run(const Context& context) {
  for (const Option* row :
       {&option_repeat, &option_before, &option_limit, &option_output, &option_trace, &option_yes}) {
    if (context.options.given(row->name) && context.options.text(row->name) != row->fallback &&
        (row->type != OptionType::flag || context.options.flag(row->name))) {
      return bad_input(fmt::format("--{} is about runs of a command, and --dry-run makes none", row->name),
                       "leave one of them out");
    }
  }
  if (context.options.operands().size() != 1) {
    return bad_input("--dry-run takes one operand, a trace, and options go before it",
                     "sluice run --trace FILE -- COMMAND records one");
  }
  const std::string& trace = context.options.operands().front();
  const std::string where = context.options.text("json");
  SLUICE_CHECK(must_be_possible(context.options.text("report"), "--report"));
  SLUICE_CHECK(where.empty() || where.starts_with("fd:") ? Status() : may_write(where, true, trace));
  SLUICE_TRY(const JsonFile json_to, JsonFile::open(where));
  SLUICE_TRY(const Scratch scratch, make_scratch());
  TuneSettings settings = settings_of(context);
  settings.cold = context.options.text("caches") == "drop";
  SLUICE_TRY(const Found found, find_out(settings, trace, scratch.path(), 0));
  const Tuned tuned{.study = &found.study, .tried = &found.tried, .chosen = best_of(found.tried)};
  Output out;
  out.text = candidates_text(found.tried, context.style) + "\n" +
             (tuned.chosen == nullptr ? std::string("nothing is surely better than the program as it is\n")
                                      : choice_text(*tuned.chosen, context.style));
  SLUICE_CHECK(write_report(settings, trace, tuned));
  if (json_to) {
    SLUICE_CHECK(json_to.write(tuned_json(tuned)));
  }
  return out;
}

Result<Output> tune(const Context& context) {
  const Options& options = context.options;
  if (options.flag("dry-run")) {
    return dry_run(context);
  }
  for (const char* name : {"output", "trace", "report"}) {
    SLUICE_CHECK(must_be_possible(options.text(name), fmt::format("--{}", name)));
  }
  const auto repeat = static_cast<unsigned>(options.count("repeat"));
  if (repeat == 1) {
    return bad_input("--repeat 1: one pair of runs does not say how much runs differ",
                     "--repeat takes 2 and more");
  }
  const std::string caches = options.text("caches");
  if (caches == "drop" && !can_drop_caches()) {
    return bad_input("--caches drop: only root may drop the page cache", "leave it out");
  }
  SLUICE_TRY(const JsonFile json_to, JsonFile::open(options.text("json")));
  SLUICE_TRY(const Scratch scratch, make_scratch());
  TuneSettings settings = settings_of(context);
  settings.command = options.operands();
  settings.before = options.text("before");
  settings.repeat = repeat;
  settings.cold = caches == "drop" || (caches == "auto" && repeat > 0 && can_drop_caches());
  if (options.given("limit")) {
    settings.limit = options.duration("limit").in_seconds();
  }
  settings.trace = options.text("trace");
  settings.output = options.text("output");
  settings.yes = options.flag("yes");
  for (const char* name : {"catalog", "timeout", "config"}) {
    if (options.given(name)) {
      settings.common.push_back(fmt::format("--{}={}", name, options.text(name)));
    }
  }
  Tuning tuning(std::move(settings), scratch.path());
  SLUICE_TRY(const int status, tuning.go());
  Output out;
  out.status = status;
  out.ended = tuning.ended();
  // What was found out is written whatever became of the rest.
  const Status reported = tuning.report();
  if (json_to && tuning.tuned().study != nullptr) {
    SLUICE_CHECK(json_to.write(tuned_json(tuning.tuned())));
  }
  SLUICE_CHECK(reported);
  SLUICE_CHECK(tuning.written());
  return out;
}

Result<Output> run(const Context& context) {
  const Stop stop;
  auto out = tune(context);
  if (!out && Stop::signal_number() != 0) {
    const std::string& left = out.error().advice;
    tell(fmt::format("sluice: ended by a signal; {}\n", left.empty() ? "nothing was changed" : left));
    Output ended;
    ended.ended = Stop::signal_number();  // as waitpid() has it
    return ended;
  }
  return out;
}

}  // namespace

extern const Verb verb_tune = {
    .name = "tune",
    .summary = "watch a program, find out what would make its I/O faster, do it, and compare",
    .operands = "-- COMMAND [ARGUMENT...]",
    .least_operands = 1,
    .most_operands = 1000000,
    .description =
        "Runs the command once with its calls recorded, learns from that what its files are used for, and "
        "predicts "
        "how long the whole would take with each stage that applies and on each place that may have the "
        "data: by "
        "the model, and by replays of the recorded calls on files of Sluice's own. What is surely better is "
        "shown, "
        "with its reasons and with what is weaker then. The command is run under such rules and as it is, in "
        "turn and without any trace, until an interval of 95 % says how much faster it is: 6 to 16 times "
        "each. "
        "Predicted and measured are shown beside each other. Where it is surely better, the rules are kept "
        "in a file that `sluice run --rules` takes; otherwise nothing is changed.\n\n"
        "The command runs again: a program with side effects has them again. Stages that make files "
        "elsewhere work "
        "on new files alone, so outputs of the run before have to be put away: --before.\n\n"
        "Data that is not temporary is made elsewhere, moved, or shown later to others only after a yes, on "
        "the "
        "terminal or by --yes.\n\n"
        "Exit status: the command's; 125 where Sluice failed, or the command failed under the rules and not "
        "without "
        "them, 126 where it cannot be run, 127 where there is none.",
    .options = rows,
    .examples = examples,
    .run = run,
    .runs_program = true,
};

}  // namespace sluice

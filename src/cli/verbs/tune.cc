#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/files.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/json_file.h"
#include "cli/run_plan.h"
#include "cli/verb.h"
#include "replay/scratch.h"
#include "run/launch.h"
#include "tune/folders.h"
#include "tune/stop.h"
#include "tune/text.h"

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
        "compare N runs as it is with N under the rules, in turn, and give an interval; 0: one run under the "
        "rules, held against the traced one"};
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
        "--repeat"};
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
    Example{"sluice tune -- ./simulation out.dat",
            "Watched once, understood, and run again under what came out."},
    Example{"sluice tune --repeat 5 --before 'rm -rf out' --report tune.html -- ./simulation out",
            "Five runs of each kind, with the outputs of the run before removed, and a page about it."},
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

void say(const std::string& text) {
  tell("sluice: " + text + "\n");
}

// Standard input is the program's; whoever sits at the terminal is asked there.
bool agrees(const std::string& question) {
  const UniqueFd terminal(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (!terminal || !is_terminal(STDERR_FILENO)) {
    return false;
  }
  tell(question + " [y/N] ");
  std::array<char, 64> answer = {};
  // A signal ends the waiting, and is no yes.
  pollfd one{.fd = terminal.get(), .events = POLLIN, .revents = 0};
  const ssize_t got = poll(&one, 1, -1) <= 0 ? 0 : read(terminal.get(), answer.data(), answer.size());
  return got > 0 && (answer[0] == 'y' || answer[0] == 'Y');
}

Status must_be_new(const std::string& path, std::string_view option) {
  if (!path.empty() && sys().access(path.c_str(), F_OK) == 0) {
    return bad_input(fmt::format("{} is there already", quote(path)),
                     fmt::format("remove it, or name another file by {}", option));
  }
  return {};
}

Status write_report(const Context& context, const std::string& trace, const Tuned& tuned) {
  const std::string path = context.options.text("report");
  if (path.empty()) {
    return {};
  }
  SLUICE_TRY(TraceReader reader, TraceReader::open(trace));
  SLUICE_TRY(TraceView view, view_of(reader, 0));
  const ReportInput input{
      .view = std::move(view), .tune = report_of(tuned), .source = context.options.text("trace")};
  SLUICE_CHECK(write_file(path, report_page(input)));
  say(fmt::format("the page is {}", escape(path)));
  return {};
}

struct Found {
  Study study;
  std::vector<Tried> tried;
};

Result<Found> find_out(const Context& context, const std::string& trace, TrialSettings settings) {
  SLUICE_TRY(Storage storage, survey_for_run(context));
  for (const std::string& warning : storage.warnings) {
    log::warn("{}", warning);
  }
  Found out;
  SLUICE_TRY(out.study, study_trace(trace, std::move(storage)));
  std::vector<Candidate> candidates =
      candidates_for(out.study.loads, out.study.storage.found.places, out.study.storage.profiles,
                     out.study.run, fmt::format("sluice-tuned-{}", getuid()));
  Progress progress;
  settings.seconds = context.options.duration("replay").in_seconds();
  settings.progress = [&](const std::string& text) { progress.show(text); };
  SLUICE_TRY(out.tried, try_out(trace, out.study, std::move(candidates), settings));
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
    return bad_input("--dry-run takes one operand, a trace",
                     "sluice run --trace FILE -- COMMAND records one");
  }
  SLUICE_TRY(const JsonFile json_to, JsonFile::open(context.options.text("json")));
  SLUICE_TRY(const Scratch scratch, make_scratch());
  const std::string& trace = context.options.operands().front();
  const bool cold = context.options.text("caches") == "drop";
  SLUICE_TRY(const Found found, find_out(context, trace, {.scratch = scratch.path(), .cold = cold}));
  const Tuned tuned{.study = &found.study, .tried = &found.tried, .chosen = best_of(found.tried)};
  Output out;
  out.text = candidates_text(found.tried, context.style) + "\n" +
             (tuned.chosen == nullptr ? std::string("nothing is surely better than the program as it is\n")
                                      : choice_text(*tuned.chosen, context.style));
  SLUICE_CHECK(write_report(context, trace, tuned));
  if (json_to) {
    SLUICE_CHECK(json_to.write(tuned_json(tuned)));
  }
  return out;
}

// One command, from its first run to the last.
class Tuning {
 public:
  Tuning(const Context& context, const std::string& scratch)
      : context_(context),
        options_(context.options),
        trace_(options_.given("trace") ? options_.text("trace") : scratch + "/trace"),
        style_(style_of(STDERR_FILENO, ColourChoice::automatic)) {
    runs_.command = options_.operands();
    runs_.scratch = scratch;
    runs_.before = options_.text("before");
    const std::string caches = options_.text("caches");
    runs_.cold = caches == "drop" || (caches == "auto" && repeat() > 0 && can_drop_caches());
    for (const char* name : {"catalog", "timeout", "config"}) {
      if (options_.given(name)) {
        runs_.common.push_back(fmt::format("--{}={}", name, options_.text(name)));
      }
    }
  }

  Result<Output> go() {
    SLUICE_CHECK(runs_.look_at_input());
    say(fmt::format("the command runs {} times: once traced{}",
                    2 * std::max(repeat(), 1U) + (repeat() > 0 ? 1 : 0),
                    repeat() > 0 ? fmt::format(", then {} as it is and {} under the rules, in turn",
                                               plural(repeat(), "time"), repeat())
                                 : ", once under the rules that come out"));
    SLUICE_CHECK(runs_.prepare());
    auto first = runs_.under({"--trace", trace_, "--stage", "trace"}, limit(std::nullopt));
    if (!first) {
      return std::move(first).error();
    }
    first_ = std::move(*first);
    if (!first_.stopped && first_.is_failure_of_ours()) {
      return not_watched();
    }
    if (first_.stopped || exit_status(first_.ended) != 0) {
      say(first_.stopped ? "the command took longer than --limit, and was ended: there is nothing to compare"
                         : fmt::format("the command ended with status {}: there is nothing to compare",
                                       exit_status(first_.ended)));
      return end(first_.stopped ? failed_itself : exit_status(first_.ended));
    }
    SLUICE_CHECK(Stop::check());
    SLUICE_TRY(found_, find_out(context_, trace_,
                                {.scratch = runs_.scratch,
                                 .cold = runs_.cold,
                                 .starting = first_.ended.seconds - first_.program_seconds()}));
    tuned_ = {.study = &found_.study, .tried = &found_.tried, .chosen = best_of(found_.tried)};
    const std::uint64_t files = found_.study.files();
    say(fmt::format("the traced run took {}, {} of it in calls on {} that count{}",
                    human_duration(found_.study.run.seconds), human_duration(found_.study.run.in_calls),
                    plural(files, "file"), files == 1 ? "s" : ""));
    tell(candidates_text(found_.tried, style_));
    if (tuned_.chosen == nullptr) {
      note("nothing is surely better than the program as it is; nothing was changed");
      return end(0);
    }
    tell(choice_text(*tuned_.chosen, style_));
    if (!may_act()) {
      return end(0);
    }
    SLUICE_CHECK(Stop::check());
    SLUICE_CHECK(act());
    tell(outcome_text(tuned_, style_));
    return end(broke_ ? failed_itself : exit_status(first_.ended));
  }

 private:
  [[nodiscard]] unsigned repeat() const { return static_cast<unsigned>(options_.count("repeat")); }

  [[nodiscard]] std::optional<double> limit(std::optional<double> other) const {
    return options_.given("limit") ? std::optional(options_.duration("limit").in_seconds()) : other;
  }

  // `sluice run` has said why.
  [[nodiscard]] Error not_watched() const {
    const auto trace = TraceReader::open(trace_);
    if (trace && trace->end().is_object()) {
      return fail("the command was run, and Sluice failed: there is nothing to compare");
    }
    return fail("the trace could not be written: there is nothing to compare",
                options_.given("trace") ? "--trace may name a file, and TMPDIR a folder, where there is room"
                                        : "TMPDIR may name a folder where there is room, or --trace a file");
  }

  void note(const std::string& text) {
    say(text);
    tuned_.notes.push_back(text);
  }

  // Data that is not temporary is nobody's to move but the user's.
  bool may_act() {
    const std::vector<std::string>& moved = tuned_.chosen->candidate.moved;
    if (moved.empty() || options_.flag("yes")) {
      return true;
    }
    std::vector<std::string> names;
    std::transform(moved.begin(), moved.end(), std::back_inserter(names),
                   [](const auto& glob) { return escape(glob); });
    if (agrees(fmt::format("This acts on data that is not temporary: {}. Go on?", join(names, ", ")))) {
      return true;
    }
    note(fmt::format("nothing was changed: it acts on data that is not temporary ({}); --yes agrees to that",
                     join(names, ", ")));
    return false;
  }

  Status act() {
    const Candidate& chosen = tuned_.chosen->candidate;
    Folders folders;
    SLUICE_CHECK(folders.make(chosen));
    Moves moves(chosen, runs_.common);
    const std::string text = rules_for(
        found_.study, chosen, fmt::format("Written by `sluice tune` for: {}", join(runs_.command, " ")));
    std::string rules;
    if (chosen.has_stages()) {
      rules = runs_.scratch + "/rules.toml";
      SLUICE_CHECK(write_file(rules, text));
    }
    Progress progress;
    auto compared = compare(runs_, rules, moves, first_,
                            {.repeat = repeat(),
                             .limit = limit(std::max(60.0, 10 * first_.ended.seconds)).value_or(0),
                             .noise = noise_of(found_.tried),
                             .bytes = chosen.bytes_in_stages(),
                             .read = found_.study.bytes_read(),
                             .progress = [&](const std::string& what) { progress.show(what); }});
    if (!compared) {
      return std::move(compared).error();
    }
    if (!compared->hindrance.empty()) {
      note(fmt::format("the data cannot be moved: {}; nothing was changed", compared->hindrance));
      return {};
    }
    tuned_.comparison = compared->comparison;
    broke_ = compared->broke;
    if (broke_) {
      note(compared->last.stopped
               ? "under the rules the command took longer than it may, and was ended; nothing was changed"
           : compared->last.is_failure_of_ours()
               ? "under the rules Sluice failed, and said why on standard error; nothing was changed"
               : fmt::format("under the rules the command ended with status {}; nothing was changed",
                             exit_status(compared->last.ended)));
      return {};
    }
    const bool same_work = compared->comparison.same_work;
    if (!same_work || !compared->comparison.gain.is_better()) {
      SLUICE_CHECK(moves.back());
      note(same_work ? "that was not better by more than the noise; nothing was changed"
                     : "runs that do not do the same work cannot be compared; nothing was changed");
      return {};
    }
    tuned_.kept = true;
    if (moves.any()) {
      note("the data stays where it was moved to, with links at its paths; `sluice finalize` brings it home");
    }
    if (!rules.empty()) {
      tuned_.rules = options_.text("output");
      SLUICE_CHECK(folders.keep());
      SLUICE_CHECK(write_file(tuned_.rules, text));
      say(fmt::format("`sluice run --rules {} -- ...` does it again", escape(tuned_.rules)));
    }
    return {};
  }

  Result<Output> end(int status) {
    if (tuned_.study != nullptr) {
      SLUICE_CHECK(write_report(context_, trace_, tuned_));
    }
    Output out;
    out.status = status;
    out.ended = first_.stopped ? 0 : first_.ended.status;
    if (json_ != nullptr && tuned_.study != nullptr) {
      SLUICE_CHECK(json_->write(tuned_json(tuned_)));
    }
    return out;
  }

 public:
  const JsonFile* json_ = nullptr;

 private:
  const Context& context_;
  const Options& options_;
  std::string trace_;
  Style style_;
  Runs runs_;
  ProgramRun first_;
  Found found_;
  Tuned tuned_;
  bool broke_ = false;
};

Result<Output> tune(const Context& context) {
  if (context.options.flag("dry-run")) {
    return dry_run(context);
  }
  SLUICE_CHECK(must_be_new(context.options.text("output"), "--output"));
  SLUICE_CHECK(must_be_new(context.options.text("trace"), "--trace"));
  SLUICE_CHECK(must_be_new(context.options.text("report"), "--report"));
  if (context.options.text("caches") == "drop" && !can_drop_caches()) {
    return bad_input("--caches drop: only root may drop the page cache", "leave it out");
  }
  SLUICE_TRY(const JsonFile json_to, JsonFile::open(context.options.text("json")));
  SLUICE_TRY(const Scratch scratch, make_scratch());
  Tuning tuning(context, scratch.path());
  tuning.json_ = json_to ? &json_to : nullptr;
  return tuning.go();
}

Result<Output> run(const Context& context) {
  const Stop stop;
  auto out = tune(context);
  if (!out && Stop::signal_number() != 0) {
    const std::string& left = out.error().advice;
    say(fmt::format("ended by a signal; {}", left.empty() ? "nothing was changed" : left));
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
        "with its reasons and with what is weaker then, and the command is run again under such rules. "
        "Predicted "
        "and measured are shown beside each other. Where it is better by more than the noise, the rules are "
        "kept "
        "in a file that `sluice run --rules` takes; otherwise nothing is changed.\n\n"
        "The command runs again: a program with side effects has them again. Stages that make files "
        "elsewhere work "
        "on new files alone, so outputs of the first run have to be put away: --before.\n\n"
        "Data that is not temporary is made elsewhere, moved, or shown later to others only after a yes, on "
        "the "
        "terminal or by --yes.\n\n"
        "Exit status: the command's; 125 where Sluice failed, or the command failed under the rules and not "
        "without "
        "them.",
    .options = rows,
    .examples = examples,
    .run = run,
    .runs_program = true,
};

}  // namespace sluice

#include "tune/tuning.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"
#include "report/report.h"
#include "tune/compare.h"

namespace sluice {
namespace {

void say(const std::string& text) {
  tell("sluice: " + text + "\n");
}

// How often the command runs, before anything is known of it.
std::string cost_text(const Looks& looks, bool warm_up) {
  return fmt::format(
      "the command runs once, traced; where something may help, {}{} times more, as it is and under the "
      "rules in "
      "turn",
      looks.least() == looks.most() ? "" : "up to ", 2 * (looks.most() + (warm_up ? 1 : 0)));
}

// The same of the runs that are compared, with how long they take.
std::string cost_text(const Looks& looks, bool warm_up, double pair) {
  const double more = warm_up ? 1 : 0;
  const auto count = [](std::size_t pairs) { return fmt::format("{}", pairs); };
  const auto time = [&](std::size_t pairs) {
    return human_duration((static_cast<double>(pairs) + more) * pair);
  };
  return fmt::format("{} pairs of runs{}, about {}", range_text(count(looks.least()), count(looks.most())),
                     warm_up ? ", after one that does not count" : ", each without what is in the page cache",
                     range_text(time(looks.least()), time(looks.most())));
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

}  // namespace

Result<Found> find_out(const TuneSettings& settings, const std::string& trace, const std::string& scratch,
                       double starting) {
  SLUICE_TRY(Storage storage, settings.survey());
  for (const std::string& warning : storage.warnings) {
    log::warn("{}", warning);
  }
  Found out;
  SLUICE_TRY(out.study, study_trace(trace, std::move(storage)));
  if (!settings.command.empty() && settings.before.empty()) {
    out.study.mark_what_is_there();
  }
  std::vector<Candidate> candidates =
      candidates_for(out.study.loads, out.study.storage.found.places, out.study.storage.profiles,
                     out.study.run, fmt::format("sluice-tuned-{}", getuid()));
  Progress progress;
  SLUICE_TRY(out.tried, try_out(trace, out.study, std::move(candidates),
                                {.scratch = scratch,
                                 .seconds = settings.replays,
                                 .cold = settings.cold,
                                 .starting = starting,
                                 .progress = [&](const std::string& text) { progress.show(text); }}));
  return out;
}

Status write_report(const TuneSettings& settings, const std::string& trace, const Tuned& tuned) {
  if (settings.report.empty()) {
    return {};
  }
  SLUICE_TRY(TraceReader reader, TraceReader::open(trace));
  SLUICE_TRY(TraceView view, view_of(reader, 0));
  const ReportInput input{.view = std::move(view), .tune = report_of(tuned), .source = settings.trace};
  SLUICE_CHECK(write_file(settings.report, report_page(input)));
  say(fmt::format("the page is {}", escape(settings.report)));
  return {};
}

Tuning::Tuning(TuneSettings settings, const std::string& scratch)
    : settings_(std::move(settings)),
      trace_(settings_.trace.empty() ? scratch + "/trace" : settings_.trace),
      style_(style_of(STDERR_FILENO, ColourChoice::automatic)) {
  runs_.command = settings_.command;
  runs_.common = settings_.common;
  runs_.scratch = scratch;
  runs_.before = settings_.before;
  runs_.cold = settings_.cold;
}

Result<int> Tuning::go() {
  SLUICE_CHECK(runs_.look_at_input());
  say(cost_text(looks_for(settings_.repeat, 0), !settings_.cold));
  const timespec begin = time_of_files();
  SLUICE_CHECK(run_traced());
  if (!first_.stopped && first_.is_failure_of_ours()) {
    return not_watched();
  }
  const std::string unseen = first_.unseen(runs_.command);
  if (first_.stopped || exit_status(first_.ended) != 0) {
    if (!unseen.empty()) {
      say(unseen);
    }
    say(first_.stopped ? "the command took longer than --limit, and was ended: there is nothing to compare"
                       : fmt::format("the command ended with status {}: there is nothing to compare",
                                     exit_status(first_.ended)));
    return first_.stopped ? failed_itself : exit_status(first_.ended);
  }
  SLUICE_CHECK(Stop::check());
  SLUICE_TRY(const bool goes_on, meet_outputs(begin));
  if (!goes_on) {
    return first_.stopped ? failed_itself : exit_status(first_.ended);
  }
  SLUICE_TRY(found_,
             find_out(settings_, trace_, runs_.scratch, first_.ended.seconds - first_.program_seconds()));
  tuned_.study = &found_.study;
  tuned_.tried = &found_.tried;
  tuned_.chosen = best_of(found_.tried);
  tuned_.observed = unseen.empty();
  if (!unseen.empty()) {
    note(unseen);
  }
  if (found_.study.loads.empty() && !unseen.empty()) {
    note("nothing is known of the command's I/O, so nothing was tried and nothing changed");
    return 0;
  }
  const std::uint64_t files = found_.study.files();
  say(fmt::format("the traced run took {}, {} of it in calls on {} that count{}",
                  human_duration(found_.study.run.seconds), human_duration(found_.study.run.in_calls),
                  plural(files, "file"), files == 1 ? "s" : ""));
  tell(candidates_text(found_.tried, style_));
  if (tuned_.chosen == nullptr) {
    note("nothing is surely better than the program as it is; nothing was changed");
    return 0;
  }
  tell(choice_text(*tuned_.chosen, style_));
  if (!may_act()) {
    return 0;
  }
  SLUICE_CHECK(Stop::check());
  SLUICE_CHECK(act());
  tell(outcome_text(tuned_, style_));
  return broke_ ? failed_itself : exit_status(first_.ended);
}

Status Tuning::run_traced() {
  SLUICE_CHECK(runs_.prepare());
  // What is counted corrects forecasts, and is what the last run is held against.
  SLUICE_TRY(first_,
             runs_.under({"--trace", trace_, "--stage", "stats", "--stage", "trace"}, settings_.limit));
  return {};
}

Result<bool> Tuning::meet_outputs(timespec begin) {
  if (!settings_.before.empty()) {
    return true;
  }
  SLUICE_TRY(const Outputs left, outputs_of(trace_, begin));
  if (!left.any()) {
    return true;
  }
  tuned_.reset = left.reset();
  const std::string how = tuned_.reset.empty()
                              ? "--before can remove what it makes"
                              : fmt::format("--before {} removes it", shell_word(tuned_.reset));
  note(fmt::format(
      "the command has made {}, which its next run meets: it is traced once more, as it will be run; {}, "
      "and lets it be made elsewhere",
      left.names(), how));
  if (unlink(trace_.c_str()) != 0) {
    return Errno().fail(fmt::format("cannot remove {}", quote(trace_)));
  }
  SLUICE_CHECK(run_traced());
  if (first_.is_failure_of_ours() && !first_.stopped) {
    return not_watched();
  }
  SLUICE_CHECK(Stop::check());
  if (first_.stopped || exit_status(first_.ended) != 0) {
    say(first_.stopped
            ? fmt::format("it took longer than --limit then, and was ended: there is nothing to compare")
            : fmt::format("it ended with status {} then: there is nothing to compare; {}",
                          exit_status(first_.ended), how));
    return false;
  }
  SLUICE_TRY(const Outputs again, outputs_of(trace_, begin));
  if (!is_same_work(left.moved, again.moved)) {
    note(fmt::format("it moved {} the first time and {} the second", human_size(left.moved),
                     human_size(again.moved)));
  }
  return true;
}

Status Tuning::report() const {
  return tuned_.study == nullptr ? Status() : write_report(settings_, trace_, tuned_);
}

Error Tuning::not_watched() const {
  const auto trace = TraceReader::open(trace_);
  if (trace && trace->end().is_object()) {
    return fail("the command was run, and Sluice failed: there is nothing to compare");
  }
  return fail("the trace could not be written: there is nothing to compare",
              settings_.trace.empty() ? "TMPDIR may name a folder where there is room, or --trace a file"
                                      : "--trace may name a file, and TMPDIR a folder, where there is room");
}

void Tuning::note(const std::string& text) {
  say(text);
  tuned_.notes.push_back(text);
}

bool Tuning::may_act() {
  const std::vector<std::string>& moved = tuned_.chosen->candidate.moved;
  if (moved.empty() || settings_.yes) {
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

Status Tuning::act() {
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
  const bool warm_up = !settings_.cold;
  const double pair = first_.program_seconds() + predicted(tuned_)->seconds;
  const Looks looks = looks_for(settings_.repeat, pair);
  say(cost_text(looks, warm_up, pair));
  Progress progress;
  SLUICE_TRY(const Compared compared,
             compare(runs_, rules, moves, first_,
                     {.looks = looks,
                      .warm_up = warm_up,
                      .limit = settings_.limit.value_or(std::max(60.0, 10 * first_.ended.seconds)),
                      .bytes = chosen.has_stages() ? chosen.bytes_in_stages() : first_.bytes(),
                      .read = found_.study.bytes_read(),
                      .progress = [&](const std::string& what) { progress.show(what); }}));
  if (!compared.hindrance.empty()) {
    note(fmt::format("the data cannot be moved: {}; nothing was changed", compared.hindrance));
    return {};
  }
  tuned_.comparison = compared.comparison;
  broke_ = compared.broke;
  if (broke_) {
    note(compared.last.stopped
             ? "under the rules the command took longer than it may, and was ended; nothing was changed"
         : compared.last.is_failure_of_ours()
             ? "under the rules Sluice failed, and said why on standard error; nothing was changed"
             : fmt::format("under the rules the command ended with status {}; nothing was changed",
                           exit_status(compared.last.ended)));
    return {};
  }
  return judge(compared, moves, folders, rules.empty() ? "" : text);
}

Status Tuning::judge(const Compared& compared, Moves& moves, Folders& folders, const std::string& rules) {
  const bool same_work = compared.comparison.same_work;
  if (!same_work || !compared.comparison.gain.is_better()) {
    SLUICE_CHECK(moves.back());
    note(same_work ? "that was not better by more than the noise; nothing was changed"
                   : "runs that do not do the same work cannot be compared; nothing was changed");
    return {};
  }
  if (moves.any()) {
    SLUICE_CHECK(moves.there());  // after a last run as it is they are at home
    note("the data stays where it was moved to, with links at its paths; `sluice finalize` brings it home");
  }
  tuned_.kept = true;
  if (rules.empty()) {
    return {};
  }
  written_ = write_file(settings_.output, rules);
  if (!written_) {
    return {};  // said at the end, when the rest is written
  }
  tuned_.rules = settings_.output;
  SLUICE_CHECK(folders.keep());
  say(fmt::format("`sluice run --rules {} -- ...` does it again", escape(tuned_.rules)));
  return {};
}

}  // namespace sluice

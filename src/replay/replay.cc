#include "replay/replay.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/median.h"
#include "base/stop.h"
#include "base/text.h"
#include "base/units.h"
#include "replay/crew.h"
#include "replay/futex.h"
#include "replay/pool.h"
#include "replay/scan.h"
#include "replay/scratch.h"
#include "run/recover.h"
#include "run/shared.h"
#include "trace/text.h"

namespace sluice {
namespace {

Result<std::uint8_t> find_point(const TraceReader& trace, const std::string& wanted) {
  const Json& about = trace.about();
  const Json points = about.is_object() && about.contains("points") ? about["points"] : Json::array();
  if (wanted.empty()) {
    return std::uint8_t{0};
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i] == wanted) {
      return static_cast<std::uint8_t>(i);
    }
  }
  return bad_input(fmt::format("the trace has no point {}", quote(wanted)),
                   fmt::format("it has {}", points.dump()));
}

// Why the processes that replay did not come to the end.
Error why_stopped(const Script& script, const Crew& crew, const TraceScan& scan) {
  const int number = script.stop_number;
  switch (script.stop) {
    case Script::no_process:
    case Script::no_thread:
      return fail(number,
                  fmt::format("cannot start as many processes and threads as the trace has, {} and {}",
                              scan.processes, scan.strands.size() - 1))
          .advise("raise ulimit -u, or replay where more may be started");
    case Script::no_room:
      return fail(number, "the place became full while replaying");
    case Script::no_descriptor:
      return fail(number, "cannot have as many files open as the traced program had")
          .advise("raise ulimit -n");
    case Script::died:
      return fail(fmt::format("a replaying process was ended by signal {}", number));
    default: {
      const std::vector<std::string> said = crew.said();
      return fail(said.empty()
                      ? fmt::format("the replaying processes ended early, with status {}", crew.status())
                      : said.back());
    }
  }
}

std::string describe(const Difference& one, const TraceScan& scan) {
  const auto text = [](std::int64_t result) {
    return result < 0 ? std::string(std::strerror(static_cast<int>(-result))) : fmt::format("{}", result);
  };
  const ReplayStrand& strand = scan.strands[std::min<std::size_t>(one.strand, scan.strands.size() - 1)];
  const std::string name = one.name[0] == 0 ? "" : fmt::format(" of {}", escape(one.name.data()));
  return fmt::format("{}{} by {}/{}: {} instead of {}", operation_name(one.operation), name, strand.process,
                     strand.thread, text(one.result), text(one.expected));
}

void collect(Replayed& out, Script& script, const TraceScan& scan, const Feeder& feeder) {
  out.seconds = static_cast<double>(std::max<std::int64_t>(script.ended - script.began, 0)) / 1e9;
  out.original_seconds = static_cast<double>(scan.end - scan.begin) / 1e9;
  for (std::size_t i = 0; i < scan.totals.size() && i < Script::most_operations; ++i) {
    ReplayedOperation one = scan.totals[i];
    const OperationCount& count = script.counts[i];
    out.skipped += feeder.skipped()[i].calls;
    one.name = operation_name(static_cast<std::uint8_t>(i));
    one.calls = count.calls;
    one.differed = count.differed;
    one.original_seconds = std::max(one.original_seconds - feeder.skipped()[i].original_seconds, 0.0);
    one.seconds = static_cast<double>(count.nanoseconds) / 1e9;
    if (one.calls > 0) {
      out.operations += one.calls;
      out.differed += one.differed;
      out.io_seconds += one.seconds;
      out.original_io_seconds += one.original_seconds;
      out.by_operation.push_back(std::move(one));
    }
  }
  out.late_seconds =
      out.operations == 0 ? 0 : static_cast<double>(script.late) / 1e9 / static_cast<double>(out.operations);
  for (const Difference& one : script.differences) {
    if (one.is_there != 0) {
      out.differences.push_back(describe(one, scan));
    }
  }
}

Status feed(TraceReader& trace, Feeder& feeder) {
  TraceEvent event;
  for (;;) {
    SLUICE_TRY(const bool more, trace.next(event));
    if (!more) {
      return feeder.finish();
    }
    SLUICE_CHECK(feeder.take(event));
  }
}

Result<Replayed> perform(const std::string& path, const ReplaySettings& settings, TraceReader& trace) {
  const auto tell = [&](const std::string& text) {
    if (settings.progress) {
      settings.progress(text);
    }
  };
  const double since = steady_seconds();
  const auto check = [&]() -> Status {
    if (settings.limit > 0 && steady_seconds() - since > settings.limit) {
      return fail(ETIMEDOUT, fmt::format("it takes longer than {}", human_duration(settings.limit)));
    }
    return Stop::check();
  };
  SLUICE_TRY(const std::uint8_t point, find_point(trace, settings.point));
  tell("reading the trace");
  SLUICE_TRY(TraceScan scan, scan_trace(trace, point, settings.covers));
  SLUICE_CHECK(check());
  Replayed out;
  out.trouble = trace.trouble();
  out.processes = scan.processes;
  out.threads = scan.by_thread.size();
  out.files = scan.files.size() - 1;
  SLUICE_TRY(Scratch scratch, Scratch::make(settings.to));
  out.folder = scratch.path();
  const auto prepared =
      scratch.prepare(scan, trace, settings.cold, [&](std::uint64_t done, std::uint64_t of) {
        tell(fmt::format("making files, {} of {}", human_size(done), human_size(of)));
        return check().has_value();
      });
  SLUICE_CHECK(check());
  SLUICE_TRY(out.prepared_bytes, prepared);
  // The trace as it was when it was scanned, should somebody still write to it.
  SLUICE_TRY(TraceReader again, TraceReader::open(path));

  Crew* crew_there = nullptr;
  Script* script = nullptr;
  const auto go_on = [&]() -> Status {
    SLUICE_CHECK(check());
    tell(fmt::format("replaying, {} of {} operations", script->done.load(), scan.operations));
    if (crew_there->is_over(0)) {
      return why_stopped(*script, *crew_there, scan);
    }
    return {};
  };
  SLUICE_TRY(ScriptPool pool, ScriptPool::make(static_cast<std::uint32_t>(scan.strands.size()), go_on));
  script = &pool.script();
  script->factor = settings.pace.factor;
  script->staged = settings.stages.empty() && settings.rules.empty() ? 0 : 1;
  SLUICE_TRY(const std::vector<std::string> command, crew_command(settings, scratch.path(), pool.path()));
  // What a `sluice run` that was killed has elsewhere comes home while there is a home for it, and goes with
  // it.
  const auto bring_home = [](const Script* ended) {
    if (ended->staged != 0 && ended->stop != Script::going) {
      recover_leftovers(Leftovers::all);
    }
  };
  const std::unique_ptr<const Script, decltype(bring_home)> after_crew(script, bring_home);
  SLUICE_TRY(Crew crew, Crew::start(command));
  crew_there = &crew;
  const auto start = [&]() -> Status {
    while (script->ready == 0) {
      futex_sleep(script->ready, 0, 50'000'000);
      SLUICE_CHECK(go_on());
    }
    script->go = 1;
    futex_wake(script->go);
    return {};
  };
  pool.when_full(start);
  Feeder feeder(scan, again, pool);
  Status status = feed(again, feeder);
  if (status && script->go == 0) {
    status = start();
  }
  while (status && !crew.is_over(100)) {
    status = check();
    tell(fmt::format("replaying, {} of {} operations", script->done.load(), scan.operations));
  }
  if (!status) {
    script->stop = Script::asked;
    return std::move(status).error();  // the crew ends, then the folder goes
  }
  const std::int64_t over = nanoseconds_of(CLOCK_MONOTONIC);
  if (script->stop != Script::going || crew.status() != 0) {
    Error error = why_stopped(*script, crew, scan);
    script->stop = Script::asked;
    return error;
  }
  for (const std::string& line : crew.said()) {
    log::warn("{}", line);
  }
  collect(out, *script, scan, feeder);
  const std::int64_t ended = std::max(script->ended.load(), script->began.load());
  out.after_seconds = ended == 0 ? 0 : static_cast<double>(over - ended) / 1e9;
  if (settings.keep) {
    out.folder = scratch.keep();
  } else {
    SLUICE_CHECK(scratch.remove());
  }
  return out;
}

}  // namespace

Result<ReplayPace> ReplayPace::parse(std::string_view text) {
  if (text == "original") {
    return ReplayPace{.factor = 1};
  }
  if (text == "fast") {
    return ReplayPace{.factor = 0};
  }
  const auto factor = parse_number(text);
  if (!factor || !std::isfinite(*factor) || *factor < 0.001 || *factor > 1e6) {
    return bad_input(fmt::format("{} is no pace", quote(text)),
                     "original, fast, or how many times as fast, from 0.001 to 1000000");
  }
  return ReplayPace{.factor = *factor};
}

double Replayed::timing_error() const {
  return original_seconds > 0 ? seconds / original_seconds - 1 : 0;
}

Result<Replayed> replay(const std::string& path, const ReplaySettings& settings) {
  SLUICE_CHECK(check_stages(settings.stages));
  if (settings.plan && settings.rules.empty()) {
    return bad_input("a plan needs rules that say an intent", "give --rules, too");
  }
  const Stop stop;
  SLUICE_TRY(TraceReader trace, TraceReader::open(path));
  return perform(path, settings, trace);
}

Result<ReplayComparison> compare_replays(const std::string& trace, const ReplaySettings& settings,
                                         unsigned repeat) {
  ReplaySettings plain = settings;
  plain.stages.clear();
  plain.rules.clear();
  plain.plan = false;
  ReplayComparison out;
  std::vector<double> gains;
  for (unsigned i = 0; i < repeat; ++i) {
    // Whoever comes first may find things warmer or colder: they take turns.
    for (const bool with : {i % 2 == 1, i % 2 == 0}) {
      SLUICE_TRY(Replayed one, replay(trace, with ? settings : plain));
      (with ? out.with : out.without).push_back(std::move(one));
    }
    gains.push_back(out.with.back().seconds > 0 ? out.without.back().seconds / out.with.back().seconds : 1);
  }
  if (!gains.empty()) {
    const auto [least, largest] = std::minmax_element(gains.begin(), gains.end());
    out.gain = median(gains);
    out.least = *least;
    out.largest = *largest;
  }
  return out;
}

}  // namespace sluice

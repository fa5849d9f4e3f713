#include "replay/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/median.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"

namespace sluice {
namespace {

double mean(double seconds, std::uint64_t calls) {
  return calls == 0 ? 0 : seconds / static_cast<double>(calls);
}

std::string percent(double share) {
  return fmt::format("{:+.1f} %", share * 100);
}

std::vector<double> seconds_of(const std::vector<Replayed>& all) {
  std::vector<double> out;
  for (const Replayed& one : all) {
    out.push_back(one.seconds);
  }
  return out;
}

}  // namespace

std::string replay_text(const Replayed& replayed, const Style& style) {
  Table times({{.title = ""},
               {.title = "ORIGINAL", .align = Align::right},
               {.title = "REPLAYED", .align = Align::right},
               {.title = "CHANGE", .align = Align::right}});
  const auto row = [&](const std::string& name, double before, double now) {
    times.add(
        {name, human_duration(before), human_duration(now), before > 0 ? percent(now / before - 1) : "-"});
  };
  row("whole", replayed.original_seconds, replayed.seconds);
  row("in I/O", replayed.original_io_seconds, replayed.io_seconds);
  Table operations({{.title = "OPERATION"},
                    {.title = "CALLS", .align = Align::right},
                    {.title = "MEAN THEN", .align = Align::right},
                    {.title = "MEAN NOW", .align = Align::right},
                    {.title = "DIFFERED", .align = Align::right}});
  for (const ReplayedOperation& one : replayed.by_operation) {
    operations.add({one.name, fmt::format("{}", one.calls),
                    human_duration(mean(one.original_seconds, one.calls)),
                    human_duration(mean(one.seconds, one.calls)), fmt::format("{}", one.differed)});
  }
  std::string out = fmt::format("{} of {} and {} on {}", plural(replayed.operations, "operation"),
                                plural(replayed.processes, "process"), plural(replayed.threads, "thread"),
                                plural(replayed.files, "file"));
  out += replayed.prepared_bytes > 0
             ? fmt::format(", {} of them made before\n\n", human_size(replayed.prepared_bytes))
             : "\n\n";
  out += times.print(style) + "\n" + operations.print(style);
  if (replayed.after_seconds > 0.1) {
    out += fmt::format("\n{} more until all was where it belongs\n", human_duration(replayed.after_seconds));
  }
  if (replayed.skipped > 0) {
    out += fmt::format(
        "\nnot done again, because they failed in a way that cannot be had, made or removed folders, or what "
        "they were done to is not in the trace: {}\n",
        replayed.skipped);
  }
  if (replayed.differed > 0) {
    out += fmt::format("\nresults that were others: {}\n", replayed.differed);
    for (const std::string& one : replayed.differences) {
      out += fmt::format("  {}\n", one);
    }
  }
  return out;
}

Json replay_json(const Replayed& replayed) {
  Json operations = Json::array();
  for (const ReplayedOperation& one : replayed.by_operation) {
    operations.push_back({{"operation", one.name},
                          {"calls", one.calls},
                          {"differed", one.differed},
                          {"original_seconds", one.original_seconds},
                          {"seconds", one.seconds}});
  }
  Json differences = Json::array();
  for (const std::string& one : replayed.differences) {
    differences.push_back(escape(one));
  }
  return {{"operations", replayed.operations},
          {"skipped", replayed.skipped},
          {"processes", replayed.processes},
          {"threads", replayed.threads},
          {"files", replayed.files},
          {"prepared_bytes", replayed.prepared_bytes},
          {"original_seconds", replayed.original_seconds},
          {"seconds", replayed.seconds},
          {"error", replayed.timing_error()},
          {"original_io_seconds", replayed.original_io_seconds},
          {"io_seconds", replayed.io_seconds},
          {"after_seconds", replayed.after_seconds},
          {"late_seconds", replayed.late_seconds},
          {"differed", replayed.differed},
          {"differences", std::move(differences)},
          {"by_operation", std::move(operations)},
          {"trouble", replayed.trouble},
          {"folder", escape(replayed.folder)}};
}

std::string comparison_text(const ReplayComparison& comparison, const Style& style) {
  Table table({{.title = ""},
               {.title = "MEDIAN", .align = Align::right},
               {.title = "LEAST", .align = Align::right},
               {.title = "MOST", .align = Align::right},
               {.title = "IN I/O", .align = Align::right},
               {.title = "AFTER", .align = Align::right},
               {.title = "DIFFERED", .align = Align::right}});
  const auto row = [&](const std::string& name, const std::vector<Replayed>& all) {
    std::vector<double> seconds = seconds_of(all);
    std::vector<double> io;
    std::vector<double> after;
    std::uint64_t differed = 0;
    for (const Replayed& one : all) {
      io.push_back(one.io_seconds);
      after.push_back(one.after_seconds);
      differed += one.differed;
    }
    table.add({name, human_duration(median(seconds)),
               human_duration(*std::min_element(seconds.begin(), seconds.end())),
               human_duration(*std::max_element(seconds.begin(), seconds.end())), human_duration(median(io)),
               human_duration(median(after)), fmt::format("{}", differed)});
  };
  row("without stages", comparison.without);
  row("with stages", comparison.with);
  std::string out = table.print(style);
  out += fmt::format("\nwith the stages it is {:.2f} times as fast ({:.2f} to {:.2f} in {})", comparison.gain,
                     comparison.least, comparison.largest, plural(comparison.with.size(), "pair"));
  out += comparison.least <= 1 && comparison.largest >= 1 ? ": no difference that is larger than the spread\n"
                                                          : "\n";
  return out;
}

Json comparison_json(const ReplayComparison& comparison) {
  Json out = {{"gain", comparison.gain},
              {"least", comparison.least},
              {"largest", comparison.largest},
              {"without", Json::array()},
              {"with", Json::array()}};
  for (const Replayed& one : comparison.without) {
    out["without"].push_back(replay_json(one));
  }
  for (const Replayed& one : comparison.with) {
    out["with"].push_back(replay_json(one));
  }
  return out;
}

}  // namespace sluice

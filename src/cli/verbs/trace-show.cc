#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include "cli/trace_input.h"

namespace sluice {
namespace {

constexpr Option option_failed = {.name = "failed", .help = "only calls that failed"};
constexpr Option option_slower = {.name = "slower",
                                  .type = OptionType::duration,
                                  .argument = "TIME",
                                  .help = "only calls that took longer"};
constexpr Option option_follow = {.name = "follow",
                                  .help = "go on with what is added, until the traced program has ended"};
const std::array rows = {&option_operation, &option_path_glob, &option_process, &option_from,  &option_to,
                         &option_failed,    &option_slower,    &option_point,   &option_follow};

constexpr std::array examples = {
    Example{"sluice trace show run.trace", "Every call, in the order in which they began."},
    Example{"sluice trace show run.trace -f '/data/**' -o write --slower 1ms", "Slow writes below /data."},
};

constexpr std::chrono::milliseconds look{200};

Result<Output> run(const Context& context) {
  const std::string& path = context.options.operands().front();
  SLUICE_TRY(TraceReader trace, TraceReader::open(path));
  const bool only_failed = context.options.flag("failed");
  const double slower =
      context.options.given("slower") ? context.options.duration("slower").in_seconds() : -1;
  Printer out;
  bool read = true;
  bool first = true;
  const TakeEvent take = [&](const TraceEvent& event, const std::string& file) {
    if ((only_failed && event.result >= 0) || static_cast<double>(event.duration) / 1e9 <= slower) {
      return true;
    }
    const std::string point = point_name(trace, event.point);
    const EventTexts texts{
        .path = file, .other = trace.path(event.other), .point = point, .site = trace.path(event.site)};
    read = context.json ? out.print((first ? "{\"events\": [" : ",\n") + json_line(event, texts))
                        : out.print(event_line(event, texts));
    first = false;
    return read;
  };
  TraceFiles files;
  SLUICE_CHECK(for_each_wanted(context, trace, files, take));
  while (context.options.flag("follow") && trace.end().is_null() && read && out.flush()) {
    std::this_thread::sleep_for(look);
    SLUICE_CHECK(trace.look_again());
    SLUICE_CHECK(for_each_wanted(context, trace, files, take));
  }
  if (context.json) {
    out.print(first ? "{\"events\": []}\n" : "]}\n");
  }
  SLUICE_CHECK(out.finish());
  warn_of_trouble(trace, path);
  return Output();
}

}  // namespace

extern const Verb verb_trace_show = {
    .name = "trace show",
    .summary = "print the calls of a trace",
    .operands = "TRACE",
    .least_operands = 1,
    .most_operands = 1,
    .description =
        "A line a call: when it began, in seconds after the trace did; process and thread; what was done, to "
        "which "
        "part of the file, with what result; how long it took; the file. `sluice run --trace TRACE -- CMD` "
        "makes a "
        "trace. One that was cut, because somebody killed `sluice run`, is printed as far as it goes.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice

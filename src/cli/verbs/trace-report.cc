#include <fmt/format.h>

#include <array>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/trace_input.h"
#include "report/report.h"

namespace sluice {
namespace {

constexpr Option option_output = {.name = "output",
                                  .type = OptionType::path,
                                  .argument = "FILE.html",
                                  .help = "where the page goes; without it TRACE.html"};
constexpr Option option_force = {.name = "force", .help = "replace a file that is there"};
const std::array rows = {&option_output, &option_force, &option_point};

constexpr std::array examples = {
    Example{"sluice trace report run.trace --output run.html", "What the program did, for a browser."},
};

Result<Output> run(const Context& context) {
  const std::string& path = context.options.operands().front();
  const std::string to = context.options.given("output") ? context.options.text("output") : path + ".html";
  SLUICE_CHECK(may_write(to, context.options.flag("force"), path));
  SLUICE_TRY(TraceReader trace, TraceReader::open(path));
  SLUICE_TRY(const std::uint8_t point, wanted_point(context, trace));
  ReportInput input;
  SLUICE_TRY(input.view, view_of(trace, point));
  input.source = absolute(path, current_folder());
  warn_of_trouble(trace, path);
  const std::string page = report_page(input);
  SLUICE_CHECK(write_file(to, page));
  Output out;
  out.text = fmt::format("{}: {} on {} by {}, {}\n", quote(to), plural(input.view.events, "call"),
                         plural(input.view.file_count, "file"), plural(input.view.process_count, "process"),
                         human_size(page.size()));
  put_bytes(out.json, "output", absolute(to, current_folder()));
  out.json["bytes"] = page.size();
  out.json["events"] = input.view.events;
  out.json["files"] = input.view.file_count;
  out.json["processes"] = input.view.process_count;
  out.json["seconds"] = input.view.seconds;
  out.json["trouble"] = input.view.trouble;
  return out;
}

}  // namespace

extern const Verb verb_trace_report = {
    .name = "trace report",
    .summary = "make a page of a trace that a browser shows",
    .operands = "TRACE",
    .least_operands = 1,
    .most_operands = 1,
    .description =
        "Writes one HTML file that opens offline: where the time goes, when, request sizes, and every file "
        "and process that "
        "matters. It stays small however long the trace is; what took least is put together.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice

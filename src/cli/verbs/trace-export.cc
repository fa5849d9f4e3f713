#include <array>

#include "cli/trace_input.h"
#include "trace/export/export.h"

namespace sluice {
namespace {

// The names of the table as the options have choices: "csv|json".
constexpr auto choices = [] {
  std::array<char, 256> out{};
  std::size_t at = 0;
  for (const ExportFormat& format : export_formats) {
    if (at > 0) {
      out.at(at++) = '|';
    }
    for (const char letter : format.name) {
      out.at(at++) = letter;
    }
  }
  return out;
}();

constexpr Option option_as = {.name = "as",
                              .type = OptionType::choice,
                              .argument = "FORMAT",
                              .range = choices.data(),
                              .fallback = export_formats.front().name,
                              .help = "which form; see FORMS"};
const std::array rows = {&option_as,   &option_operation, &option_path_glob, &option_process,
                         &option_from, &option_to,        &option_point};

constexpr std::array examples = {
    Example{"sluice trace export run.trace >run.csv", "For a spreadsheet or a program of one's own."},
    Example{"sluice trace export run.trace --as chrome >run.json", "Opens in https://ui.perfetto.dev."},
    Example{"sluice trace export run.trace --as fio-job --files 'out/**' >run.fio",
            "A job file for fio that does the like."},
};

std::vector<Section> sections() {
  Section out{.title = "FORMS", .rows = {}};
  for (const ExportFormat& format : export_formats) {
    out.rows.emplace_back(format.name, format.help);
  }
  return {out};
}

Result<Output> run(const Context& context) {
  const std::string& path = context.options.operands().front();
  SLUICE_TRY(TraceReader trace, TraceReader::open(path));
  const std::unique_ptr<TraceExporter> form =
      context.json ? make_json_list() : make_exporter(context.options.text("as"));
  Printer out;
  out.print(form->head());
  TraceFiles files;
  SLUICE_CHECK(for_each_wanted(context, trace, files, [&](const TraceEvent& event, const std::string& file) {
    const std::string point = point_name(trace, event.point);
    return out.print(form->line(
        event,
        {.path = file, .other = trace.path(event.other), .point = point, .site = trace.path(event.site)}));
  }));
  out.print(form->tail());
  SLUICE_CHECK(out.finish());
  warn_of_trouble(trace, path);
  return Output();
}

}  // namespace

extern const Verb verb_trace_export = {
    .name = "trace export",
    .summary = "turn a trace into a form that other programs read",
    .operands = "TRACE",
    .least_operands = 1,
    .most_operands = 1,
    .description =
        "Writes to standard output; --json is what `sluice trace show --json` prints. In csv and json times "
        "are nanoseconds after the trace began, offsets of -1 mean the file's own position, results below 0 "
        "are errors. In an iolog of fio files are named after their paths (/data/a is data+a), and fio makes "
        "them in the folder where it is started: it never touches those of the trace.\n\n"
        "A job file for fio has a section for each family of files: those whose paths differ in numbers "
        "alone. It makes files of its own and never touches those of the trace. Hints for ROMIO come with "
        "the reason for each in a comment; they are advice by rules of thumb.",
    .options = rows,
    .examples = examples,
    .sections = sections,
    .run = run,
};

}  // namespace sluice

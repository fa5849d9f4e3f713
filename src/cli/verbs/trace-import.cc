#include <fmt/format.h>

#include <array>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/verb.h"
#include "trace/import/import.h"

namespace sluice {
namespace {

constexpr Option option_as = {.name = "as",
                              .type = OptionType::choice,
                              .argument = "FORMAT",
                              .range = "auto|strace|darshan|dftracer",
                              .fallback = "auto",
                              .help = "what FILE is; auto looks at it"};
constexpr Option option_output = {.name = "output",
                                  .letter = 'o',
                                  .type = OptionType::path,
                                  .argument = "TRACE",
                                  .help = "the trace to make, which must not be there yet; needed"};
constexpr Option option_folder = {.name = "folder",
                                  .type = OptionType::path,
                                  .argument = "FOLDER",
                                  .help =
                                      "where the program was started, for relative paths of strace "
                                      "without -y; the current folder where it is not given"};
constexpr std::array rows = {&option_as, &option_output, &option_folder};

constexpr std::array examples = {
    Example{"strace -f -tt -T -y -o run.strace make && sluice trace import run.strace --output run.trace",
            "A program that cannot run under `sluice run`."},
    Example{"darshan-dxt-parser job.darshan | sluice trace import - --output job.trace",
            "What Darshan recorded of an MPI program."},
    Example{"zcat app.pfw.gz | sluice trace import - --output app.trace", "What DFTracer recorded."},
};

Result<Output> run(const Context& context) {
  const Options& options = context.options;
  const std::string& input = options.operands().front();
  const std::string output = options.text("output");
  if (output.empty()) {
    return bad_input("it is not said where the trace goes", "give --output TRACE");
  }
  const std::string folder =
      absolute(options.given("folder") ? options.text("folder") : ".", current_folder());
  SLUICE_TRY(const Imported imported, import_trace(input, options.text("as"), folder, output));
  if (imported.unreadable > 0) {
    log::warn("{} of the {} of {} cannot be read as {}, line {} first; that was left out",
              imported.unreadable, plural(imported.lines, "line"), quote(input), imported.format,
              imported.first_unreadable);
  }
  if (!imported.warning.empty()) {
    log::warn("{}", imported.warning);
  }
  Output out;
  out.text = fmt::format("{} {} in {}\n", plural(imported.events, "call"),
                         imported.events == 1 ? "is" : "are", quote(output));
  out.json = {{"format", imported.format},         {"lines", imported.lines},
              {"events", imported.events},         {"left_out", imported.left_out},
              {"unreadable", imported.unreadable}, {"first_unreadable", imported.first_unreadable},
              {"warning", imported.warning}};
  put_bytes(out.json, "output", output);
  return out;
}

}  // namespace

extern const Verb verb_trace_import = {
    .name = "trace import",
    .summary = "make a trace of what another program recorded",
    .operands = "FILE",
    .least_operands = 1,
    .most_operands = 1,
    .description =
        "Reads the output of strace, Darshan or DFTracer (- is standard input) and makes a trace that every "
        "other command reads. strace has to print times: `strace -f -tt -T -y` prints all that is needed; "
        "without -T calls take no time, and without -y files that were open before are left out.\n\n"
        "darshan-dxt-parser prints every read and write. darshan-parser prints counters of each file alone: "
        "calls are made up that count the same, with mean sizes and times. In both, the process is the rank "
        "and one more.\n\n"
        "Lines that cannot be read are left out and counted; a file that is none of these is refused.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice

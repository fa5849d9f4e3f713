#include <array>

#include "base/json.h"
#include "cli/trace_input.h"
#include "run/account.h"

namespace sluice {
namespace {

const std::array rows = {&option_point};

constexpr std::array examples = {
    Example{"sluice trace stats run.trace", "What the program did with each file."},
};

Result<Output> run(const Context& context) {
  const std::string& path = context.options.operands().front();
  SLUICE_TRY(TraceReader trace, TraceReader::open(path));
  SLUICE_TRY(const std::uint8_t point, wanted_point(context, trace));
  SLUICE_TRY(const Account account, account_of(trace, point));
  warn_of_trouble(trace, path);
  Output out;
  out.text = account.is_blind()
                 ? "nothing was observed in the run that was traced; `sluice doctor -- COMMAND` says why\n"
                 : account_text(account, context.style);
  out.json = account_json(account);
  out.json["events"] = trace.events();
  out.json["about"] = trace.about();
  out.json["end"] = trace.end();
  return out;
}

}  // namespace

extern const Verb verb_trace_stats = {
    .name = "trace stats",
    .summary = "sum up a trace, file by file",
    .operands = "TRACE",
    .least_operands = 1,
    .most_operands = 1,
    .description =
        "The account that `sluice run` gives at its end, from a trace: what was read and written, how large, "
        "in "
        "what "
        "pattern and how long it took; the files that took longest.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice

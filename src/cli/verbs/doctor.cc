#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/files.h"
#include "base/log.h"
#include "base/terminal.h"
#include "cli/json_file.h"
#include "cli/verb.h"
#include "run/doctor.h"
#include "run/launch.h"
#include "run/shared.h"
#include "run/trace_calls.h"

namespace sluice {
namespace {

constexpr std::array examples = {
    Example{"sluice doctor -- ./simulation --steps 10", "Would stages see all of its I/O?"},
    Example{"sluice doctor --json=report.json -- make", "The same of every program that make starts."},
};

Result<Output> run(const Context& context) {
  SLUICE_TRY(const JsonFile json_to, JsonFile::open(context.options.text("json")));
  SLUICE_TRY(const std::string library, preload_library());
  SLUICE_TRY(Glob files, Glob::parse("/**"));
  SLUICE_TRY(const SharedArea shared, SharedArea::make({{.files = std::move(files), .stages = {"mark"}}}));
  SLUICE_TRY(const std::unique_ptr<CallTrace> trace, CallTrace::make(shared.path()));
  const std::string before = environment("LD_PRELOAD");
  const auto ended = launch(context.options.operands(),
                            {{"LD_PRELOAD", before.empty() ? library : fmt::format("{}:{}", library, before)},
                             {"SLUICE_RUN", shared.path()}},
                            trace.get());
  if (!ended && trace->was_hindered()) {
    return ended.error();
  }
  Output out;
  if (!ended) {
    log::error("doctor: {}", ended.error().text());
    out.status = ended.error().number == ENOENT ? not_found : cannot_run;
    return out;
  }
  const Diagnosis diagnosis{.tallies = trace->tallies(), .unmanaged = shared.area().unmanaged};
  tell(diagnosis_text(diagnosis, style_of(STDERR_FILENO, ColourChoice::automatic)));
  bool lacking = false;  // the report is not where it belongs
  if (json_to) {
    Json json = diagnosis_json(diagnosis);
    json["status"] = exit_status(*ended);
    json["seconds"] = ended->seconds;
    if (const Status written = json_to.write(json); !written) {
      log::error("doctor: {}", written.error().text());
      lacking = true;
    }
  }
  out.status = exit_status(*ended);
  out.ended = ended->status;
  if (lacking && out.status == 0) {
    out.status = failed_itself;
  }
  return out;
}

}  // namespace

extern const Verb verb_doctor = {
    .name = "doctor",
    .summary = "run a program and tell which of its I/O stages would not see",
    .operands = "-- COMMAND [ARGUMENT...]",
    .least_operands = 1,
    .most_operands = 1000000,
    .description =
        "Starts the command as `sluice run` does, and watches from the kernel's side as well: each system "
        "call of it and of its descendants that opens, reads, writes, copies or maps a regular file is "
        "stopped at, and held to what passed the stages. A table says of each program how many calls were "
        "seen and how many were not, why, on which files, and what to use instead. What libc and its loader "
        "read for themselves (libraries, locales, the list of users) is left out.\n\n"
        "Nothing about the I/O is changed, but it takes longer: tens of microseconds a call. It ends when "
        "all "
        "processes of the command have ended; those that go on after it are waited for, and interrupting "
        "Sluice ends them. The command cannot be a debugger, which wants to trace by itself. For users other "
        "than root, setuid programs get no privileges in it.\n\n"
        "Exit status: the command's, whatever was seen; 125 where Sluice itself failed, 126 where the "
        "command cannot be run, 127 where there is no such command.",
    .options = {},
    .examples = examples,
    .run = run,
    .runs_program = true,
};

}  // namespace sluice

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/trace_input.h"
#include "intent/glob.h"
#include "learn/learn.h"
#include "learn/pragmas.h"

namespace sluice {
namespace {

constexpr Option option_as = {.name = "as",
                              .type = OptionType::choice,
                              .argument = "FORM",
                              .range = "rules|pragmas",
                              .fallback = "rules",
                              .help = "a rules file, or lines for the source of the program"};
constexpr Option option_output = {.name = "output",
                                  .letter = 'o',
                                  .type = OptionType::path,
                                  .argument = "FILE",
                                  .help = "write them to this file, which must not be there"};
constexpr Option option_force = {.name = "force", .help = "--output may replace a file"};
constexpr Option option_minimum = {
    .name = "minimum-bytes",
    .type = OptionType::size,
    .argument = "SIZE",
    .help =
        "leave out kinds of files of which less was read and written; without it 1M, or a hundredth of all "
        "where that is less, unless they have many calls"};
constexpr Option option_most = {.name = "most",
                                .type = OptionType::count,
                                .argument = "NUMBER",
                                .range = "1..100000",
                                .fallback = "200",
                                .help = "rules to write, those with the most bytes"};
const std::array rows = {&option_as,      &option_output, &option_force, &option_path_glob,
                         &option_minimum, &option_most,   &option_point};

constexpr std::array examples = {
    Example{"sluice learn run.trace", "The rules that the trace implies, with the evidence."},
    Example{"sluice learn run.trace --output rules.toml",
            "Into a file, for `sluice run --rules rules.toml --plan`."},
    Example{"sluice learn run.trace --as pragmas",
            "Lines for the source of a program that was compiled with -g and traced with --sites."},
    Example{"sluice learn run.trace --files 'out/**' --minimum-bytes 0", "Every file of one folder."},
};

Result<Output> run(const Context& context) {
  const Options& options = context.options;
  const std::string& path = options.operands().front();
  if (options.flag("force") && !options.given("output")) {
    return bad_input("--force is for a file that is there", "give --output FILE, or leave out --force");
  }
  SLUICE_TRY(TraceReader trace, TraceReader::open(path));
  LearnSettings settings;
  SLUICE_TRY(settings.point, wanted_point(context, trace));
  SLUICE_TRY(settings.files, wanted_files(context));
  settings.most_families = options.count("most");
  settings.look = true;
  if (options.given("minimum-bytes")) {
    settings.minimum_bytes = options.count("minimum-bytes");
  }
  const std::string output =
      options.given("output") ? absolute(options.text("output"), current_folder()) : std::string();
  if (!output.empty()) {
    settings.folder = folder_of(output);
    struct stat info {};
    if (!options.flag("force") && sys().stat(output.c_str(), &info) == 0) {
      return fail(EEXIST, fmt::format("cannot write to {}", quote(output)))
          .advise("give --force to replace it");
    }
  }
  SLUICE_TRY(const Lessons lessons, learn(trace, settings));
  warn_of_trouble(trace, path);
  if (lessons.hashed) {
    log::warn("the paths in {} are hashes: rules for them match nothing, and are commented out", quote(path));
  }
  if (lessons.families.empty()) {
    log::warn("{} has no file of which something could be said ({}, {} read and written)", quote(path),
              plural(lessons.files, "file"), human_size(lessons.bytes));
  }
  Output out;
  out.json = lessons_json(lessons);
  const bool pragmas = options.text("as") == "pragmas";
  if (pragmas) {
    SLUICE_TRY(const std::vector<LearnedPragma> lines, pragmas_of(lessons));
    out.json["pragmas"] = pragmas_json(lines);
    out.text = pragmas_text(lessons, lines);
  } else {
    out.text = rules_text(lessons);
  }
  if (!output.empty()) {
    SLUICE_CHECK(options.flag("force") ? write_file(output, out.text) : create_file(output, out.text));
    out.json["output"] = escape(output);
    out.text =
        fmt::format("{} {} are in {}\n", pragmas ? out.json["pragmas"].size() : lessons.families.size(),
                    pragmas ? "lines" : "rules", quote(options.text("output")));
  }
  return out;
}

}  // namespace

extern const Verb verb_learn = {
    .name = "learn",
    .summary = "write the rules file that a trace implies",
    .operands = "TRACE",
    .least_operands = 1,
    .most_operands = 1,
    .description =
        "Finds out what each file, or kind of files, of a traced program is used for, and says it in the "
        "words of "
        "an intent: pattern, operation, request size, total size, sync, reuse, group, stream. The rules are "
        "for "
        "people to read and change: each word has its evidence and how sure it is; what is in doubt is "
        "commented "
        "out. What would permit to lose or hide data, such as `temp`, is only ever proposed.\n\n"
        "Paths are relative to the folder of the traced command, or of --output; there the rules are "
        "used.\n\n"
        "--as pragmas prints FILE:LINE: #pragma sig WORDS for each line of the program that opens files, "
        "with "
        "what is true of all that it opens; `sluice-cc` compiles them. It needs a trace of `sluice run "
        "--sites` "
        "and a program that was compiled with -g and has not been built again since.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice

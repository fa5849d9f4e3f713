#include "base/table.h"
#include "base/text.h"
#include "cli/verb.h"
#include "pipeline/stack.h"
#include "stages/registry.h"

namespace sluice {
namespace {

constexpr std::array examples = {
    Example{"sluice stages", "What there is, and how it is classified."},
    Example{"sluice run --stage stats -- tar cf /tmp/x.tar /etc", "One of them."},
};

// "time=1ms how long" of a line.
struct Parameter {
  std::string name;
  std::string fallback;
  std::string help;
};
std::vector<Parameter> parameters_of(const sluice_stage& stage) {
  std::vector<Parameter> out;
  for (const std::string_view line : split(stage.parameters, '\n')) {
    if (line.empty()) {
      continue;
    }
    const std::size_t blank = line.find(' ');
    const std::string_view first = line.substr(0, blank);
    const std::size_t equals = first.find('=');
    out.push_back({.name = std::string(first.substr(0, equals)),
                   .fallback = std::string(first.substr(equals + 1)),
                   .help = std::string(line.substr(blank + 1))});
  }
  return out;
}

std::vector<Section> sections() {
  Section out{.title = "STAGES", .rows = {}};
  for (const sluice_stage* stage : stages()) {
    std::string text = stage->summary;
    for (const Parameter& one : parameters_of(*stage)) {
      text += ". " + one.name + "=" + one.fallback + ": " + one.help;
    }
    out.rows.emplace_back(stage->name, text);
  }
  return {out};
}

Result<Output> run(const Context& context) {
  Output out;
  Table table({{.title = "STAGE"},
               {.title = "SCOPE", .drop = 4},
               {.title = "CHANGES"},
               {.title = "KEEPS", .drop = 3},
               {.title = "POSIX"},
               {.title = "PARAMETERS", .drop = 2},
               {.title = "WHAT IT DOES", .shrink = Shrink::end}});
  out.json["stages"] = Json::array();
  for (const sluice_stage* stage : stages()) {
    std::vector<std::string> shown;
    Json parameters = Json::array();
    for (const Parameter& one : parameters_of(*stage)) {
      shown.push_back(one.name + "=" + one.fallback);
      parameters.push_back({{"name", one.name}, {"default", one.fallback}, {"help", one.help}});
    }
    Json operations = Json::array();
    for (unsigned i = 0; i < 32; ++i) {
      const std::string_view operation = print(static_cast<sluice_operation>(i));
      if ((stage->operations & SLUICE_BIT(i)) != 0 && !operation.empty()) {
        operations.push_back(operation);
      }
    }
    table.add({stage->name, stage->scope, stage->interference, stage->state, stage->semantics,
               shown.empty() ? "-" : join(shown, ","), stage->summary});
    out.json["stages"].push_back({{"name", stage->name},
                                  {"summary", stage->summary},
                                  {"scope", stage->scope},
                                  {"interference", stage->interference},
                                  {"state", stage->state},
                                  {"semantics", stage->semantics},
                                  {"aside", stage->aside != 0},
                                  {"operations", std::move(operations)},
                                  {"parameters", std::move(parameters)}});
  }
  out.text = table.print(context.style);
  return out;
}

}  // namespace

extern const Verb verb_stages = {
    .name = "stages",
    .summary = "list the stages that a program's I/O can pass through",
    .operands = "",
    .description =
        "A stage sees the operations of a program on a file and may change, merge, split, absorb or add some "
        "before "
        "it passes them on; `sluice run --stage NAME:PARAMETER=VALUE,...` stacks them.\n\n"
        "They are classified as in Duwe's thesis: SCOPE is how far a stage must look (activity, file, "
        "process, job), "
        "CHANGES what it interferes with (none, timing, data, calls), KEEPS what it remembers (none, "
        "counters, "
        "buffers), POSIX whether others see what they would without it (kept, relaxed, broken).\n\n"
        "A shared library can be a stage too: include/sluice/stage.h says how, and it is named by a path "
        "with a '/'.",
    .options = {},
    .examples = examples,
    .sections = sections,
    .run = run,
};

}  // namespace sluice

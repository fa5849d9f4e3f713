#include <fmt/format.h>

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

// How Schmidtke's thesis (section 3.3) classifies a stage, in the words of its table 2.
struct ThesisClass {
  std::string_view scope;         // data, meta data, both; none where it modifies neither
  std::string_view interference;  // with several operations: yes, indirectly following the open, no
  std::string_view state;         // stateful where it has to know earlier calls or the file
  std::string_view semantics;     // yes where they change: the program cannot read what it wrote
};

// From our own classes, but for stages of which they do not tell enough.
ThesisClass thesis_class(const sluice_stage& stage) {
  const std::string_view name = stage.name;
  if (name == "rewrite") {
    return {"meta data", "indirectly following", "stateless", "no"};
  }
  if (name == "smallfiles") {
    return {"both", "yes", "stateful", "no"};
  }
  if (name == "readahead") {
    return {"none", "no", "stateful", "no"};  // it has to know the pattern
  }
  const std::string_view changes = stage.interference;
  const bool keeps = std::string_view(stage.state) == "buffers";
  const bool breaks = std::string_view(stage.semantics) == "broken";
  const bool several = changes == "data" && std::string_view(stage.scope) != "activity";
  const bool modifies = changes == "data" || changes == "calls" || breaks;
  return {modifies ? "data" : "none", several ? "yes" : "no", keeps ? "stateful" : "stateless",
          breaks ? "yes" : "no"};
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
               {.title = "THESIS", .drop = 5},
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
    const ThesisClass thesis = thesis_class(*stage);
    table.add(
        {stage->name, stage->scope, stage->interference, stage->state, stage->semantics,
         fmt::format("{}, {}, {}, {}", thesis.scope, thesis.interference, thesis.state, thesis.semantics),
         shown.empty() ? "-" : join(shown, ","), stage->summary});
    out.json["stages"].push_back({{"name", stage->name},
                                  {"summary", stage->summary},
                                  {"scope", stage->scope},
                                  {"interference", stage->interference},
                                  {"state", stage->state},
                                  {"semantics", stage->semantics},
                                  {"thesis",
                                   {{"scope", thesis.scope},
                                    {"interference", thesis.interference},
                                    {"state", thesis.state},
                                    {"semantics", thesis.semantics}}},
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
        "SCOPE is how far a stage must look (activity, file, process, job), "
        "CHANGES what it interferes with (none, timing, data, calls), KEEPS what it remembers (none, "
        "counters, "
        "buffers), POSIX whether others see what they would without it (kept, relaxed, broken).\n\n"
        "THESIS is how Schmidtke's thesis, section 3.3, classifies them, in the words of its table 2: what "
        "is "
        "modified (data, meta data, both, none), whether several operations are interfered with (yes; "
        "indirectly following the open; no), whether it has to know earlier calls or the file (stateful, "
        "stateless), and whether the semantics of the file change, so that the program cannot read it (yes, "
        "no).\n\n"
        "A shared library can be a stage too: include/sluice/stage.h says how, and it is named by a path "
        "with a '/'.",
    .options = {},
    .examples = examples,
    .sections = sections,
    .run = run,
};

}  // namespace sluice

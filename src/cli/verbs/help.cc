#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "cli/help.h"

namespace sluice {
namespace {

constexpr Option man = {.name = "man",
                        .help = "print the manual page's source: of the verb, or of the program"};
constexpr Option completion = {.name = "completion", .help = "print the completion script for bash"};
constexpr std::array rows = {&man, &completion};

constexpr std::array examples = {
    Example{"sluice help advise", "What advise does and its options."},
    Example{"sluice help --man advise | man -l -", "The manual page of a program that is not installed."},
    Example{"source <(sluice help --completion)", "Completion in this shell."},
};

Result<Output> run(const Context& context) {
  const Verb* verb = nullptr;
  if (!context.options.operands().empty()) {
    const std::string& name = context.options.operands().front();
    verb = find_verb(name);
    if (verb == nullptr) {
      return unknown_verb(name);
    }
  }
  const bool wants_man = context.options.flag("man");
  const bool wants_completion = context.options.flag("completion");
  if (static_cast<int>(wants_man) + static_cast<int>(wants_completion) + static_cast<int>(context.json) > 1) {
    return bad_input("--man, --completion and --json exclude each other", "give one of them");
  }
  if (wants_completion && verb != nullptr) {
    return bad_input("--completion is for the whole program", "leave the verb out");
  }
  Output out;
  if (context.json) {
    out.json = help_json();
  } else if (wants_completion) {
    out.text = bash_completion();
  } else if (wants_man) {
    out.text = verb != nullptr ? verb_man(*verb) : overview_man();
  } else {
    out.text = verb != nullptr ? help_text(*verb, context.style) : overview_text(context.style);
  }
  return out;
}

}  // namespace

extern const Verb verb_help = {
    .name = "help",
    .summary = "what the program can do, as text, manual page, completion or JSON",
    .operands = "[VERB]",
    .least_operands = 0,
    .most_operands = 1,
    .description =
        "Without a verb, lists the verbs. The manual pages and the shell completion that are installed "
        "come from here. With --json, prints every verb and option, whatever verb is named.",
    .options = rows,
    .examples = examples,
    .sections = nullptr,
    .run = run,
    .configured = false,
};

}  // namespace sluice

#include <fmt/format.h>

#include <array>

#include "base/json.h"
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
  const bool named = !context.options.operands().empty();
  const std::string name = join(context.options.operands(), " ");
  const Verb* verb = find_verb(name);
  const bool is_group = verb == nullptr && !verbs_of(name).empty();
  if (named && verb == nullptr && !is_group) {
    return unknown_verb(name);
  }
  const bool wants_man = context.options.flag("man");
  const bool wants_completion = context.options.flag("completion");
  if (static_cast<int>(wants_man) + static_cast<int>(wants_completion) + static_cast<int>(context.json) > 1) {
    return bad_input("--man, --completion and --json exclude each other", "give one of them");
  }
  if (wants_completion && named) {
    return bad_input("--completion is for the whole program", "leave the verb out");
  }
  if (wants_man && is_group) {
    return which_verb(name);
  }
  Output out;
  if (context.json) {
    out.json = help_json();
  } else if (wants_completion) {
    out.text = bash_completion();
  } else if (wants_man) {
    out.text = verb != nullptr ? verb_man(*verb) : overview_man();
  } else {
    out.text = verb != nullptr ? help_text(*verb, context.style)
               : is_group      ? group_text(name, context.style)
                               : overview_text(context.style);
  }
  return out;
}

}  // namespace

extern const Verb verb_help = {
    .name = "help",
    .summary = "what the program can do, as text, manual page, completion or JSON",
    .operands = "[VERB]",
    .least_operands = 0,
    .most_operands = 2,
    .description =
        "Without a verb, lists the verbs; with the first word of verbs of two words, lists those. The manual "
        "pages and the shell completion that are installed come from here. With --json, prints every verb "
        "and option, whatever verb is named.",
    .options = rows,
    .examples = examples,
    .sections = nullptr,
    .run = run,
    .configured = false,
};

}  // namespace sluice

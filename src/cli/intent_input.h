// How verbs take an intent: words on the command line, rules files, signatures, and the attribute and rules
// of a path. One set of options, one meaning.
#pragma once

#include <array>

#include "cli/verb.h"
#include "intent/merge.h"
#include "intent/rules.h"

namespace sluice {

inline constexpr Option option_sigdef = {.name = "sigdef",
                                         .type = OptionType::text,
                                         .argument = "\"NAME WORDS\"",
                                         .help = "name an intent, for use as `sig NAME`",
                                         .repeatable = true};
inline constexpr Option option_path = {
    .name = "path",
    .letter = 'p',
    .type = OptionType::path,
    .argument = "PATH",
    .help = "the file that is meant: its attribute and the rules that match it count too"};

struct IntentInput {
  Rules rules;
  Merged merged;
};

// Reads all of them and merges. A rules file without --path is checked and gives its signatures.
Result<IntentInput> read_intent(const Context& context);
// The same for a verb that has no --path: the path and the words are among its operands.
Result<IntentInput> read_intent(const Context& context, const std::string& typed,
                                std::span<const std::string> words);
// The vocabulary as a section of a manual page.
std::vector<Section> vocabulary_section();

}  // namespace sluice

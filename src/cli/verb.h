// The frame of the program: a verb is one file in cli/verbs that defines one `const Verb`. Parsing, help,
// manual page, completion, JSON and exit statuses follow from it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/json.h"
#include "base/options.h"
#include "base/result.h"
#include "base/terminal.h"

namespace sluice {

struct Verb;

// What a verb is called with.
struct Context {
  const Verb& verb;
  const Options& options;
  const Config& config;
  Style style;  // of standard output
  bool json = false;
};

// What a verb has to say: `json` when it was asked for JSON, else `text`. A verb with very much JSON may
// write it into `text` itself and leave `json` null.
struct Output {
  std::string text;
  Json json;
  int status = 0;  // 0 done, 1 could not; of a program that was run: its own
  int ended = 0;   // how that ended, as waitpid() gives it: by a signal, then so do we
};

struct Example {
  std::string_view command;
  std::string_view meaning;
};

// A part of the manual page that comes from another table: headings with their text.
struct Section {
  std::string title;
  std::vector<std::pair<std::string, std::string>> rows;
};

struct Verb {
  std::string_view name;      // one word, or two of which the first is the group: "lab up"
  std::string_view summary;   // one line, no full stop
  std::string_view operands;  // "[INTENT...]", "" = none
  std::size_t least_operands = 0;
  std::size_t most_operands = 0;
  std::string_view description;  // paragraphs, separated by empty lines; a last one "Exit status: ..."
                                 // stands at the end of the page instead of what is said of all
  std::span<const Option* const> options;
  std::span<const Example> examples;
  std::vector<Section> (*sections)() = nullptr;
  Result<Output> (*run)(const Context&) = nullptr;
  bool configured = true;  // reads sluice.toml; help does not, so that a broken file cannot silence it
  // Leaves standard output and exit status to a program: options end at its name, JSON goes to --json=FILE,
  // and failures of our own are 125.
  bool runs_program = false;
};

// Every verb, by name. Generated from the files in cli/verbs.
std::span<const Verb* const> verbs();
const Verb* find_verb(std::string_view name);
// The verbs of two words of which this is the first; none when it is no group.
std::vector<const Verb*> verbs_of(std::string_view group);
// "lab" and "up" of "lab up"; both are "advise" of "advise".
std::string_view first_word(std::string_view name);
std::string_view last_word(std::string_view name);
// For a name that is no verb's: the nearest one, or where they are listed.
Error unknown_verb(std::string_view name);
// For a group that was named without one of its verbs.
Error which_verb(std::string_view group);
// The rows of a verb with those that every verb has.
std::vector<const Option*> rows_of(const Verb& verb);
std::span<const Option* const> common_options();

// The whole program: what main() returns.
int run_program(std::span<const std::string> arguments);

}  // namespace sluice

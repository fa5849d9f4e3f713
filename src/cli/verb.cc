#include "cli/verb.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"

namespace sluice {

#define SLUICE_VERB(name) extern const Verb verb_##name;
#include "verbs.inc"
#undef SLUICE_VERB

namespace {

constexpr Option help = {.name = "help", .letter = 'h', .help = "print this help and exit"};
constexpr Option json = {.name = "json", .help = "print one JSON object on standard output instead of text"};
constexpr Option json_to = {.name = "json",
                            .type = OptionType::path,
                            .argument = "FILE",
                            .help = "write one JSON object to this file, or with fd:N to that descriptor"};
constexpr Option colour = {
    .name = "color",
    .type = OptionType::choice,
    .range = "auto|always|never",
    .fallback = "auto",
    .help = "colour the output; auto is on a terminal only, and never when NO_COLOR is set",
    .setting = true};
constexpr Option log_level = {.name = "log-level",
                              .type = OptionType::choice,
                              .range = "error|warn|info|debug",
                              .fallback = "warn",
                              .help = "how much to say on standard error",
                              .setting = true};
constexpr Option config = {
    .name = "config",
    .type = OptionType::path,
    .argument = "FILE",
    .help =
        "read this configuration instead of ./sluice.toml, the user's and the system's; "
        "also SLUICE_CONFIG"};

constexpr std::array common = {&config, &json, &colour, &log_level, &help};

}  // namespace

std::span<const Verb* const> verbs() {
#define SLUICE_VERB(name) &verb_##name,
  static constexpr std::array all = {
#include "verbs.inc"
  };
#undef SLUICE_VERB
  return all;
}

const Verb* find_verb(std::string_view name) {
  for (const Verb* verb : verbs()) {
    if (verb->name == name) {
      return verb;
    }
  }
  return nullptr;
}

std::vector<const Verb*> verbs_of(std::string_view group) {
  std::vector<const Verb*> out;
  for (const Verb* verb : verbs()) {
    if (verb->name != group && first_word(verb->name) == group) {
      out.push_back(verb);
    }
  }
  return out;
}

std::string_view first_word(std::string_view name) {
  return name.substr(0, name.find(' '));
}

std::string_view last_word(std::string_view name) {
  return name.substr(name.rfind(' ') + 1);
}

Error unknown_verb(std::string_view name) {
  const std::string_view first = first_word(name);
  const bool in_group = name != first && !verbs_of(first).empty();
  const std::string before = in_group ? fmt::format("{} ", first) : "";
  const std::string_view typed = name.substr(before.size());
  // Second words are compared alone: a first word that is right would make any second one look near.
  std::vector<std::string_view> words;
  for (const Verb* verb : verbs()) {
    if (verb->name.starts_with(before)) {
      words.push_back(verb->name.substr(before.size()));
    }
    if (!in_group) {
      words.push_back(first_word(verb->name));
    }
  }
  const std::string_view meant = nearest(typed, words);
  const std::string what = typed.starts_with('-') ? fmt::format("unknown option {}", quote(typed))
                                                  : fmt::format("unknown verb {}", quote(name));
  if (!meant.empty()) {
    return bad_input(what, fmt::format("did you mean '{}{}'?", before, meant));
  }
  return bad_input(
      what, fmt::format("`sluice help{}{}` lists the verbs", in_group ? " " : "", in_group ? first : ""));
}

Error which_verb(std::string_view group) {
  std::vector<std::string> words;
  for (const Verb* verb : verbs_of(group)) {
    words.emplace_back(last_word(verb->name));
  }
  return bad_input(fmt::format("{} what?", group), fmt::format("one of {}", join(words, ", ")));
}

std::span<const Option* const> common_options() {
  return common;
}

std::vector<const Option*> rows_of(const Verb& verb) {
  std::vector<const Option*> out(verb.options.begin(), verb.options.end());
  for (const Option* row : common) {
    out.push_back(row == &json && verb.runs_program ? &json_to : row);
  }
  return out;
}

}  // namespace sluice

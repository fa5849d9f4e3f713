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

Error unknown_verb(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Verb* verb : verbs()) {
    names.push_back(verb->name);
  }
  const std::string advice = did_you_mean(name, names);
  return bad_input(fmt::format("unknown {} {}", name.starts_with('-') ? "option" : "verb", quote(name)),
                   advice.empty() ? "`sluice help` lists the verbs" : advice);
}

std::span<const Option* const> common_options() {
  return common;
}

std::vector<const Option*> rows_of(const Verb& verb) {
  std::vector<const Option*> out(verb.options.begin(), verb.options.end());
  out.insert(out.end(), common.begin(), common.end());
  return out;
}

}  // namespace sluice

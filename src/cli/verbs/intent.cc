#include <fmt/format.h>

#include <array>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/intent_input.h"

namespace sluice {
namespace {

constexpr std::array rows = {&option_rules, &option_sigdef, &option_path};

constexpr std::array examples = {
    Example{"sluice intent 'persist random size-per-IO(16MB) totalsize=6G'",
            "Checks the words and prints them in "
            "their canonical form."},
    Example{"sluice intent --rules rules.toml", "Checks a rules file."},
    Example{"sluice intent --rules rules.toml --path out/step_1.dat",
            "What is said of that file, and by whom."},
};

Json words_json(const Merged& merged) {
  Json out = Json::array();
  for (std::size_t i = 0; i < slot_count; ++i) {
    if (const auto& word = merged.intent.at(static_cast<Slot>(i))) {
      out.push_back({{"word", print(*word)},
                     {"kind", word->info->constraint ? "constraint" : "description"},
                     {"origin", merged.origins[i]}});
    }
  }
  return out;
}

Result<Output> run(const Context& context) {
  SLUICE_TRY(const IntentInput input, read_intent(context));
  const Merged& merged = input.merged;
  Output out;
  if (context.json) {
    Json dropped = Json::array();
    for (const auto& row : merged.dropped) {
      dropped.push_back({{"word", print(row.word)}, {"origin", row.origin}, {"because", row.because}});
    }
    Json rules = Json::array();
    for (const Rule& rule : input.rules.rules()) {
      Json row;
      put_bytes(row, "path", rule.pattern);
      row["intent"] = print(rule.intent);
      row["origin"] = rule.origin;
      rules.push_back(std::move(row));
    }
    Json sigdefs = Json::object();
    for (const std::string_view name : input.rules.sigdefs().names()) {
      sigdefs[std::string(name)] = print(*input.rules.sigdefs().find(name));
    }
    out.json = {{"intent", print(merged.intent)},
                {"words", words_json(merged)},
                {"dropped", std::move(dropped)},
                {"sigdefs", std::move(sigdefs)},
                {"rules", std::move(rules)}};
    return out;
  }
  if (!merged.intent.empty()) {
    Table table({{.title = "WORD"}, {.title = "KIND"}, {.title = "SAID BY", .shrink = Shrink::middle}});
    for (std::size_t i = 0; i < slot_count; ++i) {
      if (const auto& word = merged.intent.at(static_cast<Slot>(i))) {
        table.add({print(*word), word->info->constraint ? "constraint" : "description", merged.origins[i]});
      }
    }
    out.text += print(merged.intent) + "\n\n" + table.print(context.style);
  }
  for (const auto& row : merged.dropped) {
    out.text += fmt::format("dropped: {} of {}, because {}\n", print(row.word), row.origin, row.because);
  }
  if (!input.rules.rules().empty() && !context.options.given("path")) {
    Table table({{.title = "PATH", .shrink = Shrink::middle},
                 {.title = "INTENT", .shrink = Shrink::end},
                 {.title = "RULE", .shrink = Shrink::middle}});
    for (const Rule& rule : input.rules.rules()) {
      table.add({escape(rule.pattern), print(rule.intent), rule.origin});
    }
    out.text += (out.text.empty() ? "" : "\n") + table.print(context.style);
  }
  if (out.text.empty()) {
    out.text = "nothing is said\n";
  }
  return out;
}

}  // namespace

extern const Verb verb_intent = {
    .name = "intent",
    .summary = "check an intent, a rules file or hints, and show who says what of a file",
    .operands = "[WORD]...",
    .least_operands = 0,
    .most_operands = 10000,
    .description =
        "Prints the words in their canonical form. Words are separated by blanks or commas; case does not "
        "matter; "
        "name=x is the same as name(x). Sizes take B K M G T with an optional B or iB (powers of 1024), "
        "durations "
        "ns us ms s m h d y.\n\n"
        "`sig NAME words` uses a signature, one that ships or one of a rules file or --sigdef, which is "
        "stronger; words after the name override its own. --json lists all of them.\n\n"
        "A rules file is TOML, or JSON hints:\n\n"
        "  [sigdef]\n"
        "  checkpoint = \"persist sequential size-per-IO(16M)\"\n"
        "  [[rule]]\n"
        "  path = \"out/*.dat\"          # relative to this file; ** crosses folders\n"
        "  intent = \"sig checkpoint totalsize(2G)\"\n\n"
        "  {\"hints\": [{\"path\": \"out/*.dat\", \"random\": true, \"totalsize\": \"2G\"}]}\n\n"
        "Where several sources speak of one file they merge word by word, the stronger winning: API, pragma, "
        "command line, extended attribute user.sluice.intent, rule, learned, kernel hint. Among rules the "
        "one with "
        "more literal characters is stronger, then the later one.",
    .options = rows,
    .examples = examples,
    .sections = vocabulary_section,
    .run = run,
};

}  // namespace sluice

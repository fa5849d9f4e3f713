#include "cli/intent_input.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/files.h"
#include "base/text.h"
#include "intent/attribute.h"
#include "intent/presets.h"

namespace sluice {

Result<IntentInput> read_intent(const Context& context) {
  return read_intent(context, context.options.text("path"), context.options.operands());
}

Result<IntentInput> read_intent(const Context& context, const std::string& typed,
                                std::span<const std::string> operands) {
  IntentInput out;
  for (const Options::Value& file : context.options.all("rules")) {
    SLUICE_CHECK(out.rules.load(file.text));
  }
  for (const Options::Value& signature : context.options.all("sigdef")) {
    SLUICE_CHECK(out.rules.define(signature.text, "--sigdef"));
  }
  std::vector<Statement> statements;
  if (!typed.empty()) {
    const std::string path = absolute(typed, current_folder());
    statements = out.rules.matching(path);
    SLUICE_TRY(auto attribute, attribute_statement(path, out.rules.sigdefs()));
    if (attribute) {
      statements.push_back(std::move(*attribute));
    }
  }
  const std::string words = join(operands, " ");
  auto intent = parse_intent(words, out.rules.sigdefs());
  if (!intent) {
    Error error = intent.error().error();
    // The words again with the fault underlined, below the message.
    std::string& text = error.advice.empty() ? error.what : error.advice;
    text += "\n" + intent.error().excerpt(words);
    text.pop_back();
    return error;
  }
  statements.push_back({.intent = std::move(*intent),
                        .strength = Strength::command_line,
                        .origin = "command line",
                        .literals = 0});
  out.merged = merge(std::move(statements));
  return out;
}

std::vector<Section> vocabulary_section() {
  Section constraints{.title = "Constraints (must hold)", .rows = {}};
  Section descriptions{.title = "Descriptions (what to expect)", .rows = {}};
  for (const WordInfo& word : vocabulary()) {
    (word.constraint ? constraints : descriptions).rows.emplace_back(word.syntax, word.meaning);
  }
  Section signatures{.title = "Signatures that ship (use as `sig NAME`)", .rows = {}};
  for (const Preset& preset : presets()) {
    signatures.rows.emplace_back(preset.name, fmt::format("{}: {}", preset.about, preset.words));
  }
  return {std::move(constraints), std::move(descriptions), std::move(signatures)};
}

}  // namespace sluice

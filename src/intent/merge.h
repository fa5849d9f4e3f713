// Several sources may speak of one file; they merge word by word, the stronger winning.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "intent/intent.h"

namespace sluice {

// Rising. Among statements of equal strength the one with more literal characters is stronger (rules), then
// the later one.
enum class Strength { kernel, learned, rule, attribute, command_line, pragma, api };
std::string_view print(Strength strength);

struct Statement {
  Intent intent;
  Strength strength = Strength::rule;
  std::string origin;        // "rules.toml:4", for people
  std::size_t literals = 0;  // of a rule's glob
};

struct Merged {
  Intent intent;
  // Who said the word in each slot; empty where nobody did.
  std::array<std::string, slot_count> origins;
  // Words that did not get in, strongest first: the word, who said it, and what stands in its place.
  struct Dropped {
    Word word;
    std::string origin;
    std::string because;
  };
  std::vector<Dropped> dropped;
};

Merged merge(std::vector<Statement> statements);

}  // namespace sluice

#include "intent/merge.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {

std::string_view print(Strength strength) {
  switch (strength) {
    case Strength::kernel:
      return "kernel hint";
    case Strength::learned:
      return "learned";
    case Strength::rule:
      return "rule";
    case Strength::attribute:
      return "attribute";
    case Strength::command_line:
      return "command line";
    case Strength::pragma:
      return "pragma";
    case Strength::api:
      return "API";
  }
  return {};
}

Merged merge(std::vector<Statement> statements) {
  // Strongest first. The sort is stable and starts from the reversed order, so that later beats earlier.
  std::reverse(statements.begin(), statements.end());
  std::stable_sort(statements.begin(), statements.end(), [](const Statement& a, const Statement& b) {
    return a.strength != b.strength ? a.strength > b.strength : a.literals > b.literals;
  });
  Merged out;
  for (const Statement& statement : statements) {
    for (std::size_t i = 0; i < slot_count; ++i) {
      const auto& word = statement.intent.at(static_cast<Slot>(i));
      if (!word) {
        continue;
      }
      const auto& taken = out.intent.at(static_cast<Slot>(i));
      const Word* stronger = taken ? &*taken : out.intent.contradiction(*word);
      if (stronger == nullptr) {
        out.intent.set(*word);
        out.origins[i] = statement.origin;
      } else if (*stronger != *word) {
        const std::string& by = out.origins[static_cast<std::size_t>(stronger->info->slot)];
        out.dropped.push_back({.word = *word,
                               .origin = statement.origin,
                               .because = fmt::format("{} says {}", by, print(*stronger))});
      }
    }
  }
  return out;
}

}  // namespace sluice

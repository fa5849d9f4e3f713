// The words of the intent grammar, one row a word. Parser, printer, merging, hints in JSON and the manual
// page all follow from this table.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace sluice {

// Words that share a slot exclude each other; an intent holds at most one word a slot. The order is the order
// in which an intent is printed.
enum class Slot {
  visibility,
  durability,
  total_size,
  mttdl,
  availability,
  archive,
  tamperproof,
  pattern,
  operation,
  request_size,
  sync,
  reuse,
  stream,
  priority,
  prefetch,
  group,
  shape,
  procs,
  partition,
  stored,
};
inline constexpr std::size_t slot_count = static_cast<std::size_t>(Slot::stored) + 1;

enum class ArgumentKind { size, duration, probability, extent, name, keyword };

struct Parameter {
  ArgumentKind kind;
  std::string_view keywords = {};  // keyword: "once|seldom|often"
  bool optional = false;
};

struct WordInfo {
  std::string_view name;  // as printed; any case is read
  Slot slot;
  bool constraint;  // must hold; otherwise a description of what to expect
  std::span<const Parameter> parameters;
  bool repeats;  // the last parameter may be given again and again: one a dimension
  std::string_view syntax;
  std::string_view meaning;
};

std::span<const WordInfo> vocabulary();
const WordInfo* find_word(std::string_view name);  // any case; null when unknown

}  // namespace sluice

#include "intent/intent.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace sluice {
namespace {

bool is_array_word(Slot slot) {
  return slot >= Slot::shape;
}

bool says(const Word& word, std::string_view name, std::string_view keyword = {}) {
  return word.info->name == name &&
         (keyword.empty() ||
          (!word.arguments.empty() && word.arguments.front() == Argument(std::string(keyword))));
}

// The closed table of contradictions between words of different slots.
bool exclude(const Word& a, const Word& b) {
  if (is_array_word(a.info->slot) && is_array_word(b.info->slot)) {
    return a.arguments.size() != b.arguments.size();
  }
  const auto either = [&](const auto& test) { return test(a, b) || test(b, a); };
  return either([](const Word& x, const Word& y) {
    return (says(x, "temp") && (says(y, "archive") || says(y, "tamperproof"))) ||
           (says(x, "archive") && (says(y, "prefetch") || says(y, "reuse", "often")));
  });
}

}  // namespace

bool Intent::empty() const {
  return std::none_of(words_.begin(), words_.end(), [](const auto& word) { return word.has_value(); });
}

const Word* Intent::contradiction(const Word& word) const {
  for (const std::optional<Word>& other : words_) {
    if (!other) {
      continue;
    }
    if (other->info->slot == word.info->slot ? other->info != word.info : exclude(*other, word)) {
      return &*other;
    }
  }
  return nullptr;
}

bool Intent::is(std::string_view word) const {
  const WordInfo* info = find_word(word);
  return info != nullptr && at(info->slot) && at(info->slot)->info == info;
}

std::optional<Duration> Intent::lifetime() const {
  const auto& word = at(Slot::availability);
  return word && word->arguments.size() > 1 ? std::optional(std::get<Duration>(word->arguments[1]))
                                            : std::nullopt;
}

std::optional<Pattern> Intent::pattern() const {
  const auto& word = at(Slot::pattern);
  if (!word) {
    return std::nullopt;
  }
  return says(*word, "random")    ? Pattern::random
         : says(*word, "strided") ? Pattern::strided
                                  : Pattern::sequential;
}

std::optional<Operation> Intent::operation() const {
  const auto& word = at(Slot::operation);
  if (!word) {
    return std::nullopt;
  }
  return says(*word, "read")    ? Operation::read
         : says(*word, "write") ? Operation::write
                                : Operation::readwrite;
}

std::string print(const Word& word) {
  if (word.arguments.empty()) {
    return std::string(word.info->name);
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < word.arguments.size(); ++i) {
    const ArgumentKind kind = word.info->parameters[std::min(i, word.info->parameters.size() - 1)].kind;
    texts.push_back(std::visit(
        [kind](const auto& value) -> std::string {
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, std::uint64_t>) {
            return kind == ArgumentKind::size ? print_size(value) : fmt::format("{}", value);
          } else if constexpr (std::is_same_v<T, Duration>) {
            return print(value);
          } else if constexpr (std::is_same_v<T, double>) {
            return print_number(value);
          } else {
            return value;
          }
        },
        word.arguments[i]));
  }
  return fmt::format("{}({})", word.info->name, join(texts, ","));
}

std::string print(const Intent& intent) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < slot_count; ++i) {
    if (const auto& word = intent.at(static_cast<Slot>(i))) {
      texts.push_back(print(*word));
    }
  }
  return join(texts, " ");
}

}  // namespace sluice

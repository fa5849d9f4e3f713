// An intent: what is said about a file or stream. At most one word a slot; words that contradict each other
// never stand together. A value: copy freely, pass between threads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/units.h"
#include "intent/vocabulary.h"

namespace sluice {

// size and extent: uint64; duration: Duration; probability: double; name and keyword: string (keywords in
// lower case).
using Argument = std::variant<std::uint64_t, Duration, double, std::string>;

struct Word {
  const WordInfo* info = nullptr;
  std::vector<Argument> arguments;
  bool operator==(const Word&) const = default;
};

enum class Pattern { sequential, random, strided };
enum class Operation { read, write, readwrite };

class Intent {
 public:
  [[nodiscard]] const std::optional<Word>& at(Slot slot) const { return words_[index(slot)]; }
  [[nodiscard]] bool empty() const;
  // REQUIRES: contradiction(word) gives nothing for every word of another slot. Replaces the slot's word.
  void set(Word word) { words_[index(word.info->slot)] = std::move(word); }
  void clear(Slot slot) { words_[index(slot)].reset(); }
  bool operator==(const Intent&) const = default;

  // The word here that cannot stand beside `word`; one in the same slot counts unless it is the same word.
  [[nodiscard]] const Word* contradiction(const Word& word) const;

  // What the forecast and the plan ask.
  [[nodiscard]] bool is(std::string_view word) const;  // is("global")
  [[nodiscard]] std::optional<std::uint64_t> total_size() const {
    return first<std::uint64_t>(Slot::total_size);
  }
  [[nodiscard]] std::optional<std::uint64_t> request_size() const {
    return first<std::uint64_t>(Slot::request_size);
  }
  // Of strided(S): from the start of one request to the start of the next.
  [[nodiscard]] std::optional<std::uint64_t> stride() const { return first<std::uint64_t>(Slot::pattern); }
  [[nodiscard]] std::optional<Duration> mttdl() const { return first<Duration>(Slot::mttdl); }
  [[nodiscard]] std::optional<double> loss_probability() const { return first<double>(Slot::availability); }
  [[nodiscard]] std::optional<Duration> lifetime() const;  // of availability, where given
  [[nodiscard]] std::optional<Pattern> pattern() const;
  [[nodiscard]] std::optional<Operation> operation() const;

 private:
  static constexpr std::size_t index(Slot slot) { return static_cast<std::size_t>(slot); }

  template <class T>
  [[nodiscard]] std::optional<T> first(Slot slot) const {
    const auto& word = at(slot);
    return word && !word->arguments.empty() ? std::optional(std::get<T>(word->arguments.front()))
                                            : std::nullopt;
  }

  std::array<std::optional<Word>, slot_count> words_;
};

// Canonical text: slots in their order, names as in the vocabulary; parses back to the same intent.
std::string print(const Intent& intent);
std::string print(const Word& word);

}  // namespace sluice

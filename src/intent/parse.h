// The one parser of the intent grammar, for every door.
//
//   words    = { word [","] }
//   word     = name [ "(" argument { "," argument } ")" | "=" argument ]
//   intent   = ["sig"] [NAME] words          NAME is a sigdef's
//   sigdef   = ["sigdef"] NAME intent
//
// Pure: reads no file, asks no system, never throws but for memory.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/result.h"
#include "intent/intent.h"

namespace sluice {

// What is wrong with a text and where. Columns count characters from 1.
struct Fault {
  std::string message;      // names the word and its column
  std::string advice = {};  // the nearest known word, or what would be right
  std::size_t column = 1;
  std::size_t length = 1;  // characters to underline

  // As an error of bad input; `origin` says where the text stands ("rules.toml:4:10").
  [[nodiscard]] Error error(std::string_view origin = {}) const;
  // The text with the faulty part underlined, two lines, for a terminal.
  [[nodiscard]] std::string excerpt(std::string_view text) const;
};

template <class T>
using Parsed = tl::expected<T, Fault>;

// Names that sigdef gave to intents, and behind them the presets. Case does not matter.
class Sigdefs {
 public:
  // False when the name is taken by another sigdef; a preset of that name gives way.
  bool define(std::string_view name, Intent intent);
  [[nodiscard]] const Intent* find(std::string_view name) const;
  [[nodiscard]] std::vector<std::string_view> names() const;

 private:
  std::map<std::string, Intent, std::less<>> intents_;
};

Parsed<Intent> parse_intent(std::string_view text, const Sigdefs& sigdefs = {});

struct Sigdef {
  std::string name;
  Intent intent;
};
Parsed<Sigdef> parse_sigdef(std::string_view text, const Sigdefs& sigdefs = {});

// A word from its parts, for other forms of input. Columns in a fault are those given.
struct RawArgument {
  std::string_view text;
  std::size_t column = 1;
};
Parsed<Word> build_word(std::string_view name, std::size_t column, std::span<const RawArgument> arguments,
                        const Sigdefs& sigdefs = {});
// Adds a word; a repeated or contradicting word is a fault.
Parsed<void> add_word(Intent& intent, Word word, std::size_t column);

}  // namespace sluice

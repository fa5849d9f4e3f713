#include "intent/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "intent/presets.h"

namespace sluice {
namespace {

using tl::unexpected;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_.-").find(c) != std::string_view::npos;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_name_character(c) || c == ':' || c == '/' || c == '+' || c == '@';
  });
}

struct Token {
  std::string_view name;
  std::size_t column = 1;
  std::vector<RawArgument> arguments;
  bool has_arguments = false;
};

// Cuts a text into words with their raw arguments.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Parsed<std::vector<Token>> run() {
    std::vector<Token> out;
    std::size_t comma = std::string_view::npos;
    for (;;) {
      skip_blanks();
      if (at_ >= text_.size()) {
        if (comma != std::string_view::npos) {
          Fault bad = fault_at(comma);
          bad.message = fmt::format("',' at column {} is followed by no word", bad.column);
          return unexpected(std::move(bad));
        }
        return out;
      }
      if (text_[at_] == ',') {
        if (out.empty() || comma != std::string_view::npos) {
          Fault bad = fault_at(at_);
          bad.message = fmt::format("',' at column {} follows no word", bad.column);
          return unexpected(std::move(bad));
        }
        comma = at_++;
        continue;
      }
      comma = std::string_view::npos;
      auto token = word();
      if (!token) {
        return unexpected(std::move(token).error());
      }
      out.push_back(std::move(*token));
    }
  }

 private:
  // Counts on from the last position asked for, so that a long text costs one pass.
  std::size_t column(std::size_t at) {
    if (at < counted_) {
      counted_ = 0;
      column_ = 1;
    }
    column_ += characters(text_.substr(counted_, at - counted_));
    counted_ = at;
    return column_;
  }

  Fault fault_at(std::size_t at) { return {.message = {}, .advice = {}, .column = column(at), .length = 1}; }

  // The one at hand, whole, so that UTF-8 is shown as it was typed.
  [[nodiscard]] std::string_view character() const {
    std::size_t size = 1;
    while (at_ + size < text_.size() && (static_cast<unsigned char>(text_[at_ + size]) & 0xC0) == 0x80) {
      ++size;
    }
    return text_.substr(at_, size);
  }

  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) {
      ++at_;
    }
  }

  Parsed<Token> word() {
    Token out;
    const std::size_t start = at_;
    out.column = column(start);
    while (at_ < text_.size() && is_name_character(text_[at_])) {
      ++at_;
    }
    out.name = text_.substr(start, at_ - start);
    if (out.name.empty()) {
      Fault bad = fault_at(at_);
      bad.message = fmt::format("unexpected {} at column {}", quote(character()), bad.column);
      if (text_[at_] == '(') {
        bad.advice = "no blank may stand before '('";
      }
      return unexpected(std::move(bad));
    }
    if (at_ < text_.size() && text_[at_] == '=') {
      return equals(std::move(out));
    }
    if (at_ < text_.size() && text_[at_] == '(') {
      return parentheses(std::move(out));
    }
    if (at_ < text_.size() && !is_blank(text_[at_]) && text_[at_] != ',') {
      Fault bad = fault_at(at_);
      bad.message =
          fmt::format("unexpected {} after '{}' at column {}", quote(character()), out.name, bad.column);
      return unexpected(std::move(bad));
    }
    return out;
  }

  Parsed<Token> equals(Token out) {
    out.has_arguments = true;
    const std::size_t start = ++at_;
    while (at_ < text_.size() && !is_blank(text_[at_]) && text_[at_] != ',') {
      ++at_;
    }
    if (at_ == start) {
      Fault bad = fault_at(start);
      bad.message = fmt::format("'{}=' at column {} has no value", out.name, out.column);
      return unexpected(std::move(bad));
    }
    out.arguments.push_back({.text = text_.substr(start, at_ - start), .column = column(start)});
    return out;
  }

  Parsed<Token> parentheses(Token out) {
    out.has_arguments = true;
    const std::size_t open = at_++;
    std::size_t start = at_;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '(') {
        break;
      }
      if (c != ',' && c != ')') {
        continue;
      }
      const std::string_view raw = text_.substr(start, at_ - start);
      const std::string_view value = trim(raw);
      if (value.empty()) {
        Fault bad = fault_at(at_);
        bad.message = fmt::format("'{}' at column {} has an empty argument (column {})", out.name, out.column,
                                  bad.column);
        return unexpected(std::move(bad));
      }
      const auto offset = static_cast<std::size_t>(value.data() - text_.data());
      out.arguments.push_back({.text = value, .column = column(offset)});
      start = at_ + 1;
      if (c == ')') {
        ++at_;
        if (at_ < text_.size() && !is_blank(text_[at_]) && text_[at_] != ',') {
          Fault bad = fault_at(at_);
          bad.message = fmt::format("unexpected {} after ')' at column {}", quote(character()), bad.column);
          bad.advice = "separate words by a blank";
          return unexpected(std::move(bad));
        }
        return out;
      }
    }
    Fault bad = fault_at(open);
    bad.message = fmt::format("'{}' at column {}: the '(' at column {} is not closed", out.name, out.column,
                              bad.column);
    return unexpected(std::move(bad));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t counted_ = 0;  // column_ is the column of this byte
  std::size_t column_ = 1;
};

// All arguments are checked with the word's name and column in front.
class WordBuilder {
 public:
  WordBuilder(const WordInfo& info, std::size_t column) : info_(info), column_(column) {}

  Parsed<Word> run(std::span<const RawArgument> raw) {
    const std::size_t most = info_.repeats ? max_dimensions : info_.parameters.size();
    std::size_t least = info_.parameters.size();
    while (least > 0 && info_.parameters[least - 1].optional) {
      --least;
    }
    if (raw.size() < least || raw.size() > most) {
      return unexpected(wrong_number(raw.size(), most));
    }
    Word out{.info = &info_, .arguments = {}};
    for (std::size_t i = 0; i < raw.size(); ++i) {
      auto value = argument(info_.parameters[std::min(i, info_.parameters.size() - 1)], raw[i]);
      if (!value) {
        return unexpected(std::move(value).error());
      }
      out.arguments.push_back(std::move(*value));
    }
    return out;
  }

 private:
  static constexpr std::size_t max_dimensions = 32;

  [[nodiscard]] Fault wrong_number(std::size_t given, std::size_t most) const {
    std::string message;
    if (most == 0) {
      message = fmt::format("'{}' at column {} takes no argument", info_.name, column_);
    } else if (given == 0) {
      message = fmt::format("'{}' at column {} needs an argument", info_.name, column_);
    } else {
      message = fmt::format("'{}' at column {} has {} argument{}", info_.name, column_, given,
                            given == 1 ? "" : "s");
    }
    return {.message = std::move(message),
            .advice = fmt::format("write {}", info_.syntax),
            .column = column_,
            .length = info_.name.size()};
  }

  [[nodiscard]] Fault bad(const RawArgument& raw, std::string_view what, std::string advice) const {
    return {
        .message = fmt::format("'{}' at column {}: {} (column {})", info_.name, column_, what, raw.column),
        .advice = std::move(advice),
        .column = raw.column,
        .length = std::max<std::size_t>(characters(raw.text), 1)};
  }

  // A parsed number, or the fault made from its error.
  template <class T>
  Parsed<Argument> number(const RawArgument& raw, Result<T> value) const {
    if (!value) {
      return unexpected(bad(raw, value.error().what, value.error().advice));
    }
    if (*value == T{}) {
      return unexpected(bad(raw, fmt::format("{} must be more than zero", quote(raw.text)), {}));
    }
    return Argument(*value);
  }

  Parsed<Argument> argument(const Parameter& parameter, const RawArgument& raw) const {
    switch (parameter.kind) {
      case ArgumentKind::size:
        return number(raw, parse_size(raw.text));
      case ArgumentKind::duration:
        return number(raw, parse_duration(lower(raw.text)));
      case ArgumentKind::extent:
        return number(raw, parse_count(raw.text));
      case ArgumentKind::probability: {
        auto value = number(raw, parse_number(raw.text));
        if (!value) {
          return value;
        }
        const double share = std::get<double>(*value);
        if (share < 0 || share >= 1) {
          return unexpected(bad(raw, fmt::format("{} is not a probability", quote(raw.text)),
                                "write a number above 0 and below 1, such as 0.001"));
        }
        if (share > 0.5) {
          return unexpected(
              bad(raw, fmt::format("{} would allow losing the data more likely than not", quote(raw.text)),
                  fmt::format("the number is the probability of loss, not of survival; did you mean {:.6g}?",
                              1 - share)));
        }
        return value;
      }
      case ArgumentKind::name:
        if (!is_name(raw.text)) {
          return unexpected(bad(raw, fmt::format("{} is not a name", quote(raw.text)),
                                "use letters, digits and _ . - : / + @"));
        }
        return Argument(std::string(raw.text));
      case ArgumentKind::keyword: {
        const auto keywords = split(parameter.keywords, '|');
        std::string typed = lower(raw.text);
        if (std::find(keywords.begin(), keywords.end(), typed) == keywords.end()) {
          std::string advice = did_you_mean(typed, keywords);
          return unexpected(
              bad(raw, fmt::format("unknown choice {}", quote(raw.text)),
                  advice.empty() ? fmt::format("allowed are {}", fmt::join(keywords, ", ")) : advice));
        }
        return Argument(std::move(typed));
      }
    }
    return Argument(std::string(raw.text));
  }

  const WordInfo& info_;
  std::size_t column_;
};

Fault unknown_word(std::string_view name, std::size_t column, const Sigdefs& sigdefs) {
  std::vector<std::string_view> known = sigdefs.names();
  for (const WordInfo& word : vocabulary()) {
    known.push_back(word.name);
  }
  std::string advice = did_you_mean(name, known);
  return {.message = fmt::format("unknown word {} at column {}", quote(name), column),
          .advice = advice.empty() ? "`sluice help intent` lists the words" : advice,
          .column = column,
          .length = characters(name)};
}

// Words from tokens on top of what `base` says; `signature` names where the base came from.
Parsed<Intent> assemble(std::span<const Token> tokens, const Intent* base, std::string_view signature,
                        const Sigdefs& sigdefs) {
  Intent typed;
  for (const Token& token : tokens) {
    if (!token.has_arguments && sigdefs.find(token.name) != nullptr) {
      return unexpected(Fault{
          .message = fmt::format("signature '{}' at column {} must come first", token.name, token.column),
          .advice = {},
          .column = token.column,
          .length = token.name.size()});
    }
    auto word = build_word(token.name, token.column, token.arguments, sigdefs);
    if (!word) {
      return unexpected(std::move(word).error());
    }
    auto added = add_word(typed, std::move(*word), token.column);
    if (!added) {
      return unexpected(std::move(added).error());
    }
  }
  if (base == nullptr) {
    return typed;
  }
  Intent out = *base;
  for (const Token& token : tokens) {
    const Slot slot = find_word(token.name)->slot;
    out.clear(slot);
  }
  for (const Token& token : tokens) {
    const Word& word = *typed.at(find_word(token.name)->slot);
    if (const Word* other = out.contradiction(word)) {
      return unexpected(Fault{.message = fmt::format("'{}' at column {} contradicts '{}' of signature '{}'",
                                                     token.name, token.column, print(*other), signature),
                              .advice = {},
                              .column = token.column,
                              .length = token.name.size()});
    }
    out.set(word);
  }
  return out;
}

}  // namespace

Error Fault::error(std::string_view origin) const {
  Error out = bad_input(message, advice);
  return origin.empty() ? out : std::move(out).within(origin);
}

std::string Fault::excerpt(std::string_view text) const {
  // A text of several lines or odd bytes cannot be underlined; show it escaped and alone.
  if (escape(text) != text) {
    return fmt::format("  {}\n", escape(text));
  }
  const std::size_t marks = std::max<std::size_t>(length, 1) - 1;
  return fmt::format("  {}\n  {}^{}\n", text, std::string(column - 1, ' '), std::string(marks, '~'));
}

bool Sigdefs::define(std::string_view name, Intent intent) {
  return intents_.emplace(lower(name), std::move(intent)).second;
}

const Intent* Sigdefs::find(std::string_view name) const {
  const auto found = intents_.find(lower(name));
  return found == intents_.end() ? find_preset(name) : &found->second;
}

std::vector<std::string_view> Sigdefs::names() const {
  std::vector<std::string_view> out;
  for (const auto& [name, intent] : intents_) {
    out.push_back(name);
  }
  for (const Preset& preset : presets()) {
    if (intents_.find(preset.name) == intents_.end()) {
      out.push_back(preset.name);
    }
  }
  return out;
}

Parsed<Word> build_word(std::string_view name, std::size_t column, std::span<const RawArgument> arguments,
                        const Sigdefs& sigdefs) {
  const WordInfo* info = find_word(name);
  if (info == nullptr) {
    return unexpected(unknown_word(name, column, sigdefs));
  }
  return WordBuilder(*info, column).run(arguments);
}

Parsed<void> add_word(Intent& intent, Word word, std::size_t column) {
  const auto& present = intent.at(word.info->slot);
  Fault bad{.message = {}, .advice = {}, .column = column, .length = word.info->name.size()};
  if (present && present->info == word.info) {
    bad.message = fmt::format("word '{}' at column {} is repeated", word.info->name, column);
    return unexpected(std::move(bad));
  }
  if (const Word* other = intent.contradiction(word)) {
    bad.message = fmt::format("'{}' at column {} contradicts '{}'", print(word), column, print(*other));
    if (word.info->slot >= Slot::shape) {
      bad.advice = "give every array word the same number of dimensions";
    } else {
      bad.advice = "keep one of them";
    }
    return unexpected(std::move(bad));
  }
  intent.set(std::move(word));
  return {};
}

Parsed<Intent> parse_intent(std::string_view text, const Sigdefs& sigdefs) {
  auto lexed = Lexer(text).run();
  if (!lexed) {
    return unexpected(std::move(lexed).error());
  }
  std::span<const Token> tokens = *lexed;
  if (!tokens.empty() && !tokens[0].has_arguments && lower(tokens[0].name) == "sig") {
    tokens = tokens.subspan(1);
    if (tokens.empty()) {
      return unexpected(Fault{.message = "'sig' at column 1 is followed by no word", .advice = {}});
    }
  }
  if (!tokens.empty() && !tokens[0].has_arguments) {
    if (const Intent* base = sigdefs.find(tokens[0].name)) {
      return assemble(tokens.subspan(1), base, tokens[0].name, sigdefs);
    }
  }
  return assemble(tokens, nullptr, {}, sigdefs);
}

Parsed<Sigdef> parse_sigdef(std::string_view text, const Sigdefs& sigdefs) {
  auto lexed = Lexer(text).run();
  if (!lexed) {
    return unexpected(std::move(lexed).error());
  }
  std::span<const Token> tokens = *lexed;
  if (!tokens.empty() && !tokens[0].has_arguments && lower(tokens[0].name) == "sigdef") {
    tokens = tokens.subspan(1);
  }
  if (tokens.empty()) {
    return unexpected(Fault{.message = "a sigdef needs a name", .advice = "write sigdef NAME words"});
  }
  const Token& name = tokens[0];
  const bool reserved = lower(name.name) == "sig" || lower(name.name) == "sigdef";
  if (name.has_arguments || reserved || find_word(name.name) != nullptr) {
    return unexpected(Fault{
        .message = fmt::format("'{}' at column {} cannot be a signature's name", name.name, name.column),
        .advice = "it is a word of the grammar; choose another name",
        .column = name.column,
        .length = name.name.size()});
  }
  tokens = tokens.subspan(1);
  if (tokens.size() > 1 && !tokens[0].has_arguments && lower(tokens[0].name) == "sig") {
    tokens = tokens.subspan(1);
  }
  const Intent* base = nullptr;
  std::string_view base_name;
  if (!tokens.empty() && !tokens[0].has_arguments) {
    base = sigdefs.find(tokens[0].name);
    base_name = tokens[0].name;
  }
  auto intent = assemble(base != nullptr ? tokens.subspan(1) : tokens, base, base_name, sigdefs);
  if (!intent) {
    return unexpected(std::move(intent).error());
  }
  return Sigdef{.name = std::string(name.name), .intent = std::move(*intent)};
}

}  // namespace sluice

// HintStor's hints: the vocabulary as JSON keys. Read event by event, because a message must name the line
// and column of the offending word and a finished document no longer knows them.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "intent/rules.h"

namespace sluice {
namespace {

using nlohmann::json;

// Walks the text for the parser and leaves a note of how far it has come.
class Walker {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Walker(const char* at, const char** mark) : at_(at), mark_(mark) {}
  reference operator*() const { return *at_; }
  Walker& operator++() {
    *mark_ = ++at_;
    return *this;
  }
  Walker operator++(int) {
    Walker before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Walker& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  const char** mark_;
};

struct Position {
  std::size_t line = 1;
  std::size_t column = 1;
};

struct Scalar {
  enum class Kind { boolean, number, text, null } kind;
  std::string text;
  Position at;
};

struct Entry {
  std::string key;
  Position at;
  bool list = false;
  std::vector<Scalar> values;
};

struct Hint {
  Position at;
  std::vector<Entry> entries;
};

std::string print(Position at) {
  return fmt::format("{}:{}", at.line, at.column);
}

// Accepts exactly {"hints": [ {key: scalar or [scalars], ...}, ... ]} and keeps it with positions.
class Reader : public nlohmann::json_sax<json> {
 public:
  explicit Reader(std::string_view text) : text_(text), mark_(text.data()) {}

  Status run() {
    const char* end = text_.data() + text_.size();
    const bool done = json::sax_parse(Walker(text_.data(), &mark_), Walker(end, &mark_), this);
    if (!done) {
      return bad_input(fmt::format("{}: {}", print(fault_at_), fault_), advice_);
    }
    if (!seen_hints_) {
      return bad_input("1:1: there is no \"hints\" list", R"(write {"hints": [{"path": "...", ...}]})");
    }
    return {};
  }

  std::vector<Hint> hints;

  bool null() override { return scalar(Scalar::Kind::null, "null"); }
  bool boolean(bool value) override { return scalar(Scalar::Kind::boolean, value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override {
    return scalar(Scalar::Kind::number, fmt::format("{}", value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return scalar(Scalar::Kind::number, fmt::format("{}", value));
  }
  bool number_float(number_float_t value, const string_t& /*spelling*/) override {
    return scalar(Scalar::Kind::number, fmt::format("{}", value));
  }
  bool string(string_t& value) override { return scalar(Scalar::Kind::text, value); }
  bool binary(binary_t& /*value*/) override { return refuse("binary data"); }

  bool start_object(std::size_t /*size*/) override {
    if (depth_ == Depth::outside) {
      depth_ = Depth::document;
    } else if (depth_ == Depth::list) {
      depth_ = Depth::hint;
      hints.push_back({.at = before_mark(1), .entries = {}});
    } else {
      return refuse("an object");
    }
    return true;
  }

  bool key(string_t& value) override {
    const Position at = start_of_string();
    if (depth_ == Depth::document) {
      if (value != "hints" || seen_hints_) {
        return fault(at, fmt::format("{} key {}", value == "hints" ? "repeated" : "unknown", quote(value)),
                     "the only key here is \"hints\"");
      }
      seen_hints_ = true;
      return true;
    }
    hints.back().entries.push_back({.key = value, .at = at, .list = false, .values = {}});
    return true;
  }

  bool end_object() override {
    depth_ = depth_ == Depth::hint ? Depth::list : Depth::outside;
    return true;
  }

  bool start_array(std::size_t /*size*/) override {
    if (depth_ == Depth::document) {
      depth_ = Depth::list;
    } else if (depth_ == Depth::hint) {
      depth_ = Depth::values;
      hints.back().entries.back().list = true;
    } else {
      return refuse("a list");
    }
    return true;
  }

  bool end_array() override {
    depth_ = depth_ == Depth::values ? Depth::hint : Depth::document;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    const std::size_t offset = std::min(position == 0 ? 0 : position - 1, text_.size());
    // The library's text ends in what was found and expected; its own position part is not ours.
    std::string_view what = error.what();
    if (const std::size_t start = what.find(" - "); start != std::string_view::npos) {
      what.remove_prefix(start + 3);
    } else if (const std::size_t tag = what.find("] "); tag != std::string_view::npos) {
      what.remove_prefix(tag + 2);
    }
    return fault(position_of(offset), fmt::format("not JSON: {}", escape(what)), {});
  }

 private:
  enum class Depth { outside, document, list, hint, values };

  // Counts on from the last position asked for, so that a large file costs one pass.
  Position position_of(std::size_t offset) {
    if (offset < counted_) {
      counted_ = 0;
      position_ = {};
    }
    const std::string_view passed = text_.substr(counted_, offset - counted_);
    const std::size_t newline = passed.rfind('\n');
    if (newline == std::string_view::npos) {
      position_.column += characters(passed);
    } else {
      position_.line += static_cast<std::size_t>(std::count(passed.begin(), passed.end(), '\n'));
      position_.column = characters(passed.substr(newline + 1)) + 1;
    }
    counted_ = offset;
    return position_;
  }

  Position before_mark(std::size_t bytes) {
    const auto offset = static_cast<std::size_t>(mark_ - text_.data());
    return position_of(offset - std::min(bytes, offset));
  }

  // The parser stands just behind a string: its opening quote is the nearest one before the closing quote
  // that no odd number of backslashes precedes.
  Position start_of_string() {
    auto at = static_cast<std::size_t>(mark_ - text_.data());
    at = at >= 2 ? at - 2 : 0;
    for (; at > 0; --at) {
      std::size_t slashes = 0;
      while (slashes < at && text_[at - 1 - slashes] == '\\') {
        ++slashes;
      }
      if (text_[at] == '"' && slashes % 2 == 0) {
        break;
      }
    }
    return position_of(at);
  }

  bool fault(Position at, std::string what, std::string advice) {
    fault_at_ = at;
    fault_ = std::move(what);
    advice_ = std::move(advice);
    return false;
  }

  bool refuse(std::string_view what) {
    return fault(before_mark(1), fmt::format("{} cannot stand here", what),
                 R"(write {"hints": [{"path": "...", "random": true, "totalsize": "2G"}]})");
  }

  bool scalar(Scalar::Kind kind, std::string text) {
    if (depth_ != Depth::hint && depth_ != Depth::values) {
      return refuse("a plain value");
    }
    const Position at = kind == Scalar::Kind::text ? start_of_string() : before_mark(text.size());
    Entry& entry = hints.back().entries.back();
    entry.values.push_back({.kind = kind, .text = std::move(text), .at = at});
    return true;
  }

  std::string_view text_;
  const char* mark_;
  std::size_t counted_ = 0;  // position_ is the position of this byte
  Position position_;
  Depth depth_ = Depth::outside;
  bool seen_hints_ = false;
  Position fault_at_;
  std::string fault_;
  std::string advice_;
};

// One key and its values as a word. Numbers are bytes for sizes and seconds for durations.
Result<Word> word_of(const Entry& entry, const std::string& path, const Sigdefs& sigdefs) {
  const auto where = [&](Position at) { return fmt::format("{}:{}", escape(path), print(at)); };
  const WordInfo* info = find_word(entry.key);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < entry.values.size(); ++i) {
    const Scalar& value = entry.values[i];
    if (value.kind == Scalar::Kind::boolean && !entry.list && value.text == "true") {
      continue;  // "random": true is the bare word
    }
    if (value.kind == Scalar::Kind::boolean || value.kind == Scalar::Kind::null) {
      return bad_input(fmt::format("{}: '{}' cannot be {}", where(value.at), escape(entry.key), value.text),
                       "leave the key out, or give true or its arguments");
    }
    const bool seconds =
        value.kind == Scalar::Kind::number && info != nullptr && !info->parameters.empty() &&
        info->parameters[std::min(i, info->parameters.size() - 1)].kind == ArgumentKind::duration;
    const auto number = parse_number(value.text);
    texts.push_back(seconds && number ? sluice::print(Duration::from_seconds(*number)) : value.text);
  }
  std::vector<RawArgument> arguments;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    arguments.push_back({.text = texts[i], .column = entry.values[i].at.column});
  }
  auto word = build_word(entry.key, entry.at.column, arguments, sigdefs);
  if (!word) {
    return word.error().error(where(entry.at));
  }
  return std::move(*word);
}

}  // namespace

Status Rules::parse_hints(std::string_view text, const std::string& path) {
  Reader reader(text);
  if (Status status = reader.run(); !status) {
    // The reader's message begins with line and column.
    Error error = std::move(status).error();
    error.what = fmt::format("{}:{}", escape(path), error.what);
    return error;
  }
  for (const Hint& hint : reader.hints) {
    std::optional<std::string> glob;
    Intent intent;
    for (const Entry& entry : hint.entries) {
      const std::string at = fmt::format("{}:{}", escape(path), print(entry.at));
      if (entry.key == "path") {
        if (glob || entry.list || entry.values[0].kind != Scalar::Kind::text) {
          return bad_input(fmt::format("{}: a hint has one \"path\", and it is a text", at));
        }
        glob = entry.values[0].text;
        continue;
      }
      SLUICE_TRY(Word word, word_of(entry, path, sigdefs_));
      auto added = add_word(intent, std::move(word), entry.at.column);
      if (!added) {
        return added.error().error(at);
      }
    }
    const std::string at = fmt::format("{}:{}", escape(path), print(hint.at));
    if (!glob) {
      return bad_input(fmt::format("{}: a hint needs \"path\"", at));
    }
    Status added = add(*glob, std::move(intent), {}, path, fmt::format("{}:{}", escape(path), hint.at.line));
    if (!added) {
      return std::move(added).error().within(at);
    }
  }
  return {};
}

}  // namespace sluice

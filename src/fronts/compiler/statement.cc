#include "fronts/compiler/statement.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/text.h"

namespace sluice {
namespace {

bool begins_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool continues_name(char c) {
  return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// What may stand before the brace of a block; any other word before a brace is what it initializes.
bool precedes_block(std::string_view word) {
  static constexpr std::array words = {"else",     "do",       "try",   "const",
                                       "noexcept", "override", "final", "mutable"};
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Whether R, LR, u8R and so on stand before a string.
bool is_raw_prefix(std::string_view word) {
  static constexpr std::array words = {"R", "LR", "uR", "UR", "u8R"};
  return std::find(words.begin(), words.end(), word) != words.end();
}

class Scanner {
 public:
  Scanner(LineSource lines, Position from) : lines_(std::move(lines)), at_(from) { load(); }

  StatementText run() {
    while (!done_) {
      if (at_.column == 1 || first_on_line_) {
        if (directive()) {
          continue;
        }
      }
      step();
    }
    return std::move(out_);
  }

 private:
  // The character at hand; a line ends with '\n', the file with '\0'.
  [[nodiscard]] char peek(unsigned ahead = 0) const {
    if (!line_) {
      return '\0';
    }
    const std::size_t index = at_.column - 1 + ahead;
    return index < line_->size() ? (*line_)[index] : '\n';
  }

  void load() {
    line_.reset();
    if (const auto found = lines_(at_.line)) {
      line_ = std::string(*found);
    }
    const std::size_t before = std::min<std::size_t>(at_.column - 1, line_ ? line_->size() : 0);
    first_on_line_ = trim(line_ ? std::string_view(*line_).substr(0, before) : "").empty();
  }

  void next_line() {
    ++at_.line;
    at_.column = 1;
    load();
  }

  void advance() {
    if (peek() == '\n') {
      next_line();
    } else {
      ++at_.column;
    }
  }

  void finish() {
    out_.end = at_;
    done_ = true;
  }

  // One more thing of the text: a comment, a string, a word, or a character that counts.
  void step() {
    const char c = peek();
    if (c == '\0') {
      finish();
    } else if (c == '\n' || std::isspace(static_cast<unsigned char>(c)) != 0) {
      advance();
    } else if (c == '/' && peek(1) == '/') {
      skip_logical_line();
    } else if (c == '/' && peek(1) == '*') {
      skip_comment();
    } else {
      first_on_line_ = false;
      code(c);
    }
  }

  void code(char c) {
    if (c == '"') {
      is_raw_prefix(word_before_) ? skip_raw_string() : skip_quoted(c);
      last_ = '"';
    } else if (c == '\'') {
      skip_quoted(c);
      last_ = '"';
    } else if (begins_name(c)) {
      name();
      return;
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      // With its separators: the ' in 1'000 begins no character.
      while (continues_name(peek()) || peek() == '\'' || peek() == '.') {
        advance();
      }
      last_ = '0';
    } else {
      mark(c);
    }
    word_before_.clear();
  }

  void name() {
    word_before_.clear();
    while (continues_name(peek())) {
      word_before_ += peek();
      advance();
    }
    out_.words.push_back(word_before_);
    last_ = 'a';
  }

  void mark(char c) {
    if (c == '(' || c == '[') {
      ++depth_;
    } else if (c == ')' || c == ']') {
      depth_ = std::max(depth_ - 1, 0);
    } else if (depth_ == 0 && (c == ';' || c == '}')) {
      end_here();
      return;
    } else if (depth_ == 0 && c == '{') {
      if (!initializer()) {
        end_here();
      }
      return;
    } else if (depth_ > 0 && (c == '{' || c == '}')) {
      // A lambda or an initializer in parentheses.
      depth_ = std::max(depth_ + (c == '{' ? 1 : -1), 0);
    }
    last_ = c;
    advance();
  }

  // Within #if the other branch may be the one that holds: go on to its #endif.
  void end_here() {
    if (conditions_ == 0) {
      finish();
      return;
    }
    ended_ = true;
    last_ = peek();
    advance();
  }

  // At a brace outside of parentheses: skips it when it is an initializer, which holds no `;`.
  bool initializer() {
    const bool after_name = last_ == 'a' && !precedes_block(word_before_);
    if (!after_name && last_ != '>' && last_ != '=' && last_ != ',') {
      return false;
    }
    Scanner inner = *this;
    inner.depth_ = 1;
    inner.advance();
    while (!inner.done_ && inner.depth_ > 0) {
      const char c = inner.peek();
      if (c == ';' || c == '\0') {
        return false;
      }
      inner.last_ = c == '}' && inner.depth_ == 1 ? '}' : inner.last_;
      inner.step();
    }
    const bool ended = ended_;
    *this = std::move(inner);
    ended_ = ended;
    last_ = '}';
    return true;
  }

  void skip_comment() {
    at_.column += 2;
    while (peek() != '\0' && (peek() != '*' || peek(1) != '/')) {
      advance();
    }
    if (peek() != '\0') {
      at_.column += 2;
    }
  }

  void skip_quoted(char quote) {
    advance();
    while (peek() != quote && peek() != '\0') {
      if (peek() == '\n') {
        return;  // not closed, which the compiler will say
      }
      if (peek() == '\\') {
        advance();
      }
      advance();
    }
    advance();
  }

  void skip_raw_string() {
    std::string closing = ")";
    for (advance(); peek() != '(' && peek() != '\n' && peek() != '\0'; advance()) {
      closing += peek();
    }
    closing += '"';
    while (peek() != '\0') {
      const auto rest = std::string_view(*line_).substr(std::min<std::size_t>(at_.column - 1, line_->size()));
      if (const auto found = rest.find(closing); found != std::string_view::npos) {
        at_.column += static_cast<unsigned>(found + closing.size());
        return;
      }
      next_line();
    }
  }

  // To the next line that no backslash joins to this one.
  void skip_logical_line() {
    while (line_ && !line_->empty() && line_->back() == '\\') {
      next_line();
    }
    next_line();
  }

  // A line of the preprocessor, where one begins here.
  bool directive() {
    if (!line_) {
      return false;
    }
    const std::string_view rest =
        trim(std::string_view(*line_).substr(std::min<std::size_t>(at_.column - 1, line_->size())));
    if (!first_on_line_ || rest.empty() || rest.front() != '#') {
      return false;
    }
    const std::string what(trim(rest.substr(1)));
    const auto words = split_blanks(what);
    if (words.size() > 1 && words[0] == "pragma" && (words[1] == "sig" || words[1] == "sigdef")) {
      finish();
      return true;
    }
    skip_logical_line();
    if (what.starts_with("if")) {
      ++conditions_;
    } else if (what.starts_with("el") && conditions_ == 0) {
      skip_to_endif();
    } else if (what.starts_with("el")) {
      depth_ = 0;
    } else if (what.starts_with("endif") && conditions_ > 0 && --conditions_ == 0 && ended_) {
      finish();
    }
    return true;
  }

  // We were in the branch that holds: the others do not.
  void skip_to_endif() {
    int open = 1;
    while (line_ && open > 0) {
      const std::string_view text = trim(*line_);
      const std::string_view what = text.starts_with('#') ? trim(text.substr(1)) : std::string_view{};
      open += what.starts_with("if") ? 1 : what.starts_with("endif") ? -1 : 0;
      next_line();
    }
  }

  // By value, since a scanner looks ahead by means of a copy.
  LineSource lines_;
  Position at_;
  std::optional<std::string> line_;
  bool first_on_line_ = true;  // nothing but blanks before this on the line
  int depth_ = 0;
  int conditions_ = 0;  // #if without its #endif
  bool ended_ = false;  // in a branch
  char last_ = '\0';    // the last that counts: 'a' for a word, '0' for a number, '"' for a string
  std::string word_before_;
  bool done_ = false;
  StatementText out_;
};

}  // namespace

StatementText read_statement(const LineSource& lines, Position from) {
  return Scanner(lines, from).run();
}

}  // namespace sluice

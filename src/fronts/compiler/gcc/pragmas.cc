#include "fronts/compiler/gcc/pragmas.h"

#include <map>
#include <optional>

#include "base/text.h"
#include "fronts/compiler/source.h"
#include "fronts/compiler/words.h"
//
#include "fronts/compiler/gcc/headers.inc"

// Of the C family alone. A plug-in is loaded with all its symbols resolved, so that elsewhere these must be
// able to be missing; pragma_lex() and c_register_pragma() would do less and make numbers like 16MB errors.
extern cpp_reader* parse_in __attribute__((weak));
extern __typeof__(cpp_register_pragma) cpp_register_pragma __attribute__((weak));
extern __typeof__(cpp_get_token) cpp_get_token __attribute__((weak));
extern __typeof__(cpp_spell_token) cpp_spell_token __attribute__((weak));
extern __typeof__(cpp_token_len) cpp_token_len __attribute__((weak));
extern __typeof__(cpp_get_options) cpp_get_options __attribute__((weak));

namespace sluice {
namespace {

Sigdefs& sigdefs() {
  static Sigdefs table;
  return table;
}

struct Defined {
  Intent intent;
  location_t location;
};

std::map<std::string, Defined>& definitions() {
  static std::map<std::string, Defined> table;
  return table;
}

struct Directive {
  PragmaWords words;
  location_t first = UNKNOWN_LOCATION;  // of the first word, or of the line
  unsigned last_line = 0;
};

// As it was typed: cpp_token_as_text() would give letters beyond ASCII as numbers.
std::string spelling(cpp_reader* reader, const cpp_token* token) {
  std::vector<unsigned char> bytes(cpp_token_len(token) + 1);
  const unsigned char* end = cpp_spell_token(reader, token, bytes.data(), true);
  return {reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(end - bytes.data())};
}

// Formatters put blanks around these (`size - per - IO(4K)`); no word begins or ends with one.
bool joins(const cpp_token* token) {
  return token->type == CPP_MINUS || token->type == CPP_EQ || token->type == CPP_COLON ||
         token->type == CPP_DIV || token->type == CPP_PLUS;
}

Directive read(cpp_reader* reader) {
  Directive out;
  bool joined = false;
  out.first = line_table->highest_line;
  out.last_line =
      expand_location(out.first).line > 0 ? static_cast<unsigned>(expand_location(out.first).line) : 0;
  for (;;) {
    const cpp_token* token = cpp_get_token(reader);
    if (token->type == CPP_EOF || token->type == CPP_PRAGMA_EOL) {
      return out;
    }
    if (token->type == CPP_PADDING) {
      continue;
    }
    if (out.words.empty()) {
      out.first = token->src_loc;
    }
    out.last_line = static_cast<unsigned>(expand_location(token->src_loc).line);
    out.words.add(spelling(reader, token), token->src_loc,
                  (token->flags & PREV_WHITE) != 0 && !joined && !joins(token));
    joined = joins(token);
  }
}

bool is_directive(std::string_view line) {
  line = trim(line);
  return line.starts_with('#') || line.starts_with("%:");
}

bool preprocessed() {
  return cpp_get_options != nullptr && cpp_get_options(parse_in)->preprocessed != 0;
}

// Where the words of a pragma are in the source. Those of _Pragma come from a string, and the preprocessor
// counts their columns from the string's beginning.
class Origin {
 public:
  Origin(const Directive& directive, std::string_view keyword) : directive_(directive) {
    const expanded_location here = expand_location(directive.first);
    const auto line = static_cast<unsigned>(here.line);
    pragma_.file = here.file != nullptr ? here.file : "";
    const std::string_view text = source_line(pragma_.file, line).value_or("");
    pragma_.loose = preprocessed();
    pragma_.location = directive.first;
    if (pragma_.loose) {
      pragma_.from = {.line = is_directive(text) ? directive.last_line + 1 : line, .column = 1};
    } else if (text.empty() || is_directive(text)) {
      if (directive.words.empty() && text.find(keyword) != std::string_view::npos) {
        pragma_.location = linemap_position_for_loc_and_offset(line_table, directive.first,
                                                               static_cast<unsigned>(text.find(keyword) + 1));
      }
      pragma_.from = {.line = directive.last_line + 1, .column = 1};
    } else if (const auto column = find_operator(text, keyword)) {
      in_string_ = true;
      pragma_.location = linemap_position_for_line_and_column(
          line_table, linemap_check_ordinary(linemap_lookup(line_table, directive.first)), line, *column);
      pragma_.from = {.line = line, .column = static_cast<unsigned>(text.find(')', *column - 1) + 2)};
    } else {
      from_macro();
    }
  }

  [[nodiscard]] const Pragma& pragma() const { return pragma_; }

  // The location of a character of the words.
  [[nodiscard]] location_t at(std::size_t column) const {
    if (directive_.words.empty() || pragma_.in_macro) {
      return pragma_.location;
    }
    const auto spot = directive_.words.at(column);
    const location_t start = in_string_ ? moved(spot.place) : get_pure_location(spot.place);
    return linemap_position_for_loc_and_offset(line_table, start, spot.offset);
  }

 private:
  // The column of the first word inside of the one _Pragma on the line that says these words.
  [[nodiscard]] std::optional<unsigned> find_operator(std::string_view line, std::string_view keyword) const {
    const auto begin = line.find("_Pragma");
    if (begin == std::string_view::npos || line.find("_Pragma", begin + 1) != std::string_view::npos) {
      return std::nullopt;
    }
    auto at = line.find(keyword, begin);
    if (at == std::string_view::npos || line.find(')', at) == std::string_view::npos) {
      return std::nullopt;
    }
    at += keyword.size();
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) {
      ++at;
    }
    return static_cast<unsigned>(at + 1);
  }

  [[nodiscard]] location_t moved(location_t token) const {
    const int off = expand_location(token).column - expand_location(directive_.first).column;
    return linemap_position_for_loc_and_offset(line_table, pragma_.location,
                                               static_cast<unsigned>(off > 0 ? off : 0));
  }

  // _Pragma in a macro: the statement is where the macro is used, which is the last expansion there was.
  void from_macro() {
    pragma_.in_macro = true;
    const unsigned used = LINEMAPS_USED(line_table, true);
    if (used > 0) {
      const location_t point =
          linemap_resolve_location(line_table, LINEMAPS_MACRO_MAPS(line_table)[used - 1].expansion,
                                   LRK_MACRO_EXPANSION_POINT, nullptr);
      const expanded_location where = expand_location(point);
      if (where.file == expand_location(directive_.first).file) {
        pragma_.location = point;
        pragma_.from = {.line = static_cast<unsigned>(where.line),
                        .column = static_cast<unsigned>(where.column)};
        return;
      }
    }
    pragma_.from = {.line = static_cast<unsigned>(expand_location(directive_.first).line), .column = 1};
  }

  const Directive& directive_;
  Pragma pragma_;
  bool in_string_ = false;
};

void complain(const Origin& origin, const Fault& fault) {
  const Complaint text = complaint(fault);
  const location_t begin = origin.at(fault.column);
  const location_t end = origin.at(fault.column + (fault.length > 0 ? fault.length - 1 : 0));
  rich_location where(line_table, make_location(begin, begin, end));
  if (!text.instead.empty()) {
    where.add_fixit_replace(text.instead.c_str());
  }
  error_at(&where, "%s", text.message.c_str());
}

void on_sig(cpp_reader* reader) {
  const Directive directive = read(reader);
  const Origin origin(directive, "sig");
  const auto intent = parse_intent(directive.words.text(), sigdefs());
  if (!intent) {
    complain(origin, intent.error());
    return;
  }
  if (intent->empty()) {
    error_at(origin.pragma().location, "%<#pragma sig%> is followed by no word");
    return;
  }
  Pragma pragma = origin.pragma();
  pragma.words = print(*intent);
  pragmas().push_back(std::move(pragma));
}

void on_sigdef(cpp_reader* reader) {
  const Directive directive = read(reader);
  const Origin origin(directive, "sigdef");
  auto sigdef = parse_sigdef(directive.words.text(), sigdefs());
  if (!sigdef) {
    complain(origin, sigdef.error());
    return;
  }
  const std::string name = lower(sigdef->name);
  const auto before = definitions().find(name);
  if (before == definitions().end()) {
    sigdefs().define(name, sigdef->intent);
    definitions().emplace(name, Defined{std::move(sigdef->intent), origin.pragma().location});
  } else if (before->second.intent != sigdef->intent) {  // the same again is a header that is included twice
    error_at(origin.pragma().location, "signature %qs is defined again with other words",
             sigdef->name.c_str());
    inform(before->second.location, "its first definition, %qs, is here",
           print(before->second.intent).c_str());
  }
}

}  // namespace

std::vector<Pragma>& pragmas() {
  static std::vector<Pragma> table;
  return table;
}

bool reads_pragmas() {
  return &parse_in != nullptr && cpp_register_pragma != nullptr && cpp_get_token != nullptr &&
         cpp_spell_token != nullptr && cpp_token_len != nullptr;
}

void register_pragmas() {
  // Preprocessed text must still have them.
  if (flag_preprocess_only != 0) {
    return;
  }
  cpp_register_pragma(parse_in, nullptr, "sig", on_sig, false);
  cpp_register_pragma(parse_in, nullptr, "sigdef", on_sigdef, false);
}

}  // namespace sluice

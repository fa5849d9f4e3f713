#include "intent/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/files.h"
#include "base/reach.h"
#include "base/stage_name.h"
#include "base/text.h"
#include "base/toml.h"
#include "base/trust.h"

namespace sluice {
namespace {

// Where a column inside a TOML string stands in the file. Only a string that is written plainly on one line
// has such a place; otherwise the start of the string is named.
std::string origin_in_string(std::string_view text, const std::string& path, const toml::node& node,
                             std::string_view value, std::size_t column) {
  const toml::source_position begin = node.source().begin;
  const auto lines = split(text, '\n');
  std::size_t shift = 0;
  if (begin.line >= 1 && begin.line <= lines.size()) {
    const std::string_view line = lines[begin.line - 1];
    // toml++ counts characters, as Fault does; the text begins one after the opening quote.
    const std::size_t at = line.find(value);
    if (at != std::string_view::npos && characters(line.substr(0, at)) == begin.column) {
      shift = column;
    }
  }
  return fmt::format("{}:{}:{}", escape(path), begin.line, begin.column + shift);
}

Error wrong_type(const std::string& path, const toml::node& node, std::string_view what) {
  return bad_input(fmt::format("{}: {}", place_in(path, node.source()), what));
}

// A text, or a list of texts, so that each word can have a line and a comment of its own.
Result<Intent> read_intent(const toml::node& node, std::string_view text, const std::string& path,
                           const Sigdefs& sigdefs) {
  const auto parse = [&](const toml::node& where, const std::string& words) -> Result<Intent> {
    auto parsed = parse_intent(words, sigdefs);
    if (!parsed) {
      return parsed.error().error(origin_in_string(text, path, where, words, parsed.error().column));
    }
    return std::move(*parsed);
  };
  if (const toml::array* list = node.as_array()) {
    std::string all;
    for (const toml::node& one : *list) {
      const auto words = one.value<std::string>();
      if (!words) {
        return wrong_type(path, one, "an intent is a text of words, or a list of such texts");
      }
      // A signature comes first and only once; what is wrong with a word alone is told where it stands.
      if (all.empty() || !parse_intent(all + *words, sigdefs)) {
        SLUICE_TRY(const Intent alone, parse(one, *words));
      }
      all += *words + " ";
    }
    return parse(node, all);
  }
  return parse(node, *node.value<std::string>());
}

Result<std::vector<std::string>> read_stages(const toml::node* node, const std::string& path) {
  std::vector<std::string> out;
  if (node == nullptr) {
    return out;
  }
  const toml::array* list = node->as_array();
  if (list == nullptr || list->empty()) {
    return wrong_type(path, *node, "stages are a list of texts: stages = [\"stats\"]");
  }
  for (const toml::node& one : *list) {
    const auto text = one.value<std::string>();
    if (!text || text->empty()) {
      return wrong_type(path, one, "a stage is a text, NAME or NAME:PARAMETER=VALUE,...");
    }
    if (!is_library(*text)) {
      out.push_back(*text);
      continue;
    }
    // It runs in the user's programs: nobody else may choose it, by the rules or by the current folder.
    if (auto trusted = check_trusted(path); !trusted) {
      return std::move(trusted)
          .error()
          .within(fmt::format("{}: will not load {}", place_in(path, one.source()), quote(*text)))
          .advise("copy the rules to a folder that only you can write, or give the stage by --stage");
    }
    out.push_back(text->starts_with('/') ? *text : fmt::format("{}/{}", folder_of(path), *text));
  }
  return out;
}

}  // namespace

Status Rules::load(const std::string& path) {
  const std::string file = absolute(path, current_folder());
  if (!answers(file, file_patience)) {
    return fail(fmt::format("rules: the file system of {} does not answer", quote(file)));
  }
  auto text = read_file(file);
  if (!text) {
    return std::move(text).error().within("rules");
  }
  std::string_view start = *text;
  if (start.starts_with("\xEF\xBB\xBF")) {  // a byte order mark
    start.remove_prefix(3);
  }
  return trim(start).starts_with('{') ? parse_hints(*text, file) : parse_toml_rules(*text, file);
}

Status Rules::parse_toml_rules(std::string_view text, const std::string& path) {
  SLUICE_TRY(const toml::table table, parse_toml(text, path));
  constexpr std::array<std::string_view, 2> known = {"sigdef", "rule"};
  for (const auto& [key, node] : table) {
    if (key.str() != known[0] && key.str() != known[1]) {
      return unknown_key(path, key, known);
    }
  }
  if (const toml::node* node = table.get("sigdef")) {
    const toml::table* signatures = node->as_table();
    if (signatures == nullptr) {
      return wrong_type(path, *node, "[sigdef] must be a table of NAME = \"words\"");
    }
    // In the order of the file, so that a signature may build on one above it.
    std::vector<std::pair<const toml::key*, const toml::node*>> rows;
    for (const auto& [key, value] : *signatures) {
      rows.emplace_back(&key, &value);
    }
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
      return a.first->source().begin.line < b.first->source().begin.line;
    });
    for (const auto& [key, value] : rows) {
      const auto words = value->value<std::string>();
      if (!words) {
        return wrong_type(path, *value, fmt::format("sigdef {} needs a text of words", quote(key->str())));
      }
      // The name is parsed with the words, so columns are those of "NAME words".
      const std::string whole = fmt::format("{} {}", key->str(), *words);
      auto parsed = parse_sigdef(whole, sigdefs_);
      if (!parsed) {
        Fault fault = std::move(parsed).error();
        const std::size_t prefix = characters(key->str()) + 1;
        if (fault.column <= prefix) {
          return fault.error(place_in(path, key->source()));
        }
        // Report the columns of the words alone.
        auto again = parse_intent(*words, sigdefs_);
        fault = again ? fault : again.error();
        return fault.error(origin_in_string(text, path, *value, *words, fault.column));
      }
      if (!sigdefs_.define(parsed->name, std::move(parsed->intent))) {
        return bad_input(fmt::format("{}: signature {} is defined twice", place_in(path, key->source()),
                                     quote(key->str())));
      }
    }
  }
  const toml::node* node = table.get("rule");
  if (node == nullptr) {
    return {};
  }
  const toml::array* list = node->as_array();
  if (list == nullptr || !list->is_homogeneous(toml::node_type::table)) {
    return wrong_type(path, *node, "rules are written [[rule]], with path and intent below");
  }
  for (const toml::node& element : *list) {
    const toml::table& row = *element.as_table();
    constexpr std::array<std::string_view, 3> keys = {"path", "intent", "stages"};
    for (const auto& [key, value] : row) {
      if (std::find(keys.begin(), keys.end(), key.str()) == keys.end()) {
        return unknown_key(path, key, keys);
      }
    }
    const toml::node* glob = row.get("path");
    const toml::node* words = row.get("intent");
    const bool needs_words = words != nullptr || row.get("stages") == nullptr;
    for (const auto& [name, value] : {std::pair{"path", glob}, std::pair{"intent", words}}) {
      const bool is_text = value != nullptr && (value->is_string() || (name == keys[1] && value->is_array()));
      if (!is_text && (name == keys[0] || needs_words)) {
        return wrong_type(path, value == nullptr ? element : *value,
                          fmt::format("a rule needs {} = \"...\"", name));
      }
    }
    SLUICE_TRY(std::vector<std::string> stages, read_stages(row.get("stages"), path));
    Intent intent;
    if (words != nullptr) {
      SLUICE_TRY(intent, read_intent(*words, text, path, sigdefs_));
    }
    Status added = add(*glob->value<std::string>(), std::move(intent), std::move(stages), path,
                       fmt::format("{}:{}", escape(path), element.source().begin.line));
    if (!added) {
      return std::move(added).error().within(place_in(path, glob->source()));
    }
  }
  return {};
}

Status Rules::define(std::string_view text, std::string_view origin) {
  auto parsed = parse_sigdef(text, sigdefs_);
  if (!parsed) {
    return parsed.error().error(origin);
  }
  if (!sigdefs_.define(parsed->name, std::move(parsed->intent))) {
    return bad_input(fmt::format("{}: signature {} is defined twice", origin, quote(parsed->name)));
  }
  return {};
}

Status Rules::add(std::string_view pattern, Intent intent, std::vector<std::string> stages,
                  const std::string& file, std::string origin) {
  if (pattern.empty()) {
    return bad_input("the path glob is empty");
  }
  SLUICE_TRY(std::string whole, Glob::whole(pattern, folder_of(file)));
  SLUICE_TRY(Glob glob, Glob::parse(whole));
  rules_.push_back({.glob = std::move(glob),
                    .pattern = std::move(whole),
                    .intent = std::move(intent),
                    .stages = std::move(stages),
                    .origin = std::move(origin)});
  return {};
}

std::vector<const Rule*> Rules::by_strength() const {
  std::vector<const Rule*> out;
  std::transform(rules_.rbegin(), rules_.rend(), std::back_inserter(out),
                 [](const Rule& rule) { return &rule; });
  std::stable_sort(out.begin(), out.end(),
                   [](const Rule* a, const Rule* b) { return a->glob.literals() > b->glob.literals(); });
  return out;
}

std::vector<Statement> Rules::matching(std::string_view path) const {
  std::vector<Statement> out;
  for (const Rule& rule : rules_) {
    if (rule.glob.matches(path)) {
      out.push_back({.intent = rule.intent,
                     .strength = Strength::rule,
                     .origin = rule.origin,
                     .literals = rule.glob.literals()});
    }
  }
  return out;
}

std::string rule_text(std::string_view pattern, const Intent& intent,
                      const std::vector<std::string>& stages) {
  std::string out = fmt::format("[[rule]]\npath = {}\n", toml_text(pattern));
  if (!intent.empty()) {
    out += fmt::format("intent = {}\n", toml_text(print(intent)));
  } else if (stages.empty()) {
    out += "intent = []\n";  // one of both there must be
  }
  if (!stages.empty()) {
    std::vector<std::string> texts;
    std::transform(stages.begin(), stages.end(), std::back_inserter(texts), toml_text);
    out += fmt::format("stages = [{}]\n", join(texts, ", "));
  }
  return out;
}

}  // namespace sluice

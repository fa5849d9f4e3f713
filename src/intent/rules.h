// Rules files: which paths have which intent. Two forms with one meaning.
//
// TOML:                                     JSON (HintStor's hints):
//   [sigdef]                                  {"hints": [
//   mine = "random persist"                      {"path": "out/*.dat",
//   [[rule]]                                      "random": true,
//   path = "out/*.dat"                            "totalsize": "2G",
//   intent = "sig mine totalsize(2G)"             "availability": [0.001, "1h"]}]}
//   stages = ["stats", "delay:time=1ms"]
//
// In TOML an intent is a text, or a list of texts that are read as one. A rule has an intent, stages that
// `sluice run` puts its files through, or both.
// A glob that is not absolute is relative to the folder of its file. Symbolic links are not followed and
// nothing is looked up: matching is on the text of the path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "intent/glob.h"
#include "intent/merge.h"
#include "intent/parse.h"

namespace sluice {

// For whoever has a table of options.
inline constexpr Option option_rules = {.name = "rules",
                                        .letter = 'r',
                                        .type = OptionType::path,
                                        .argument = "FILE",
                                        .help = "read rules or signatures from this file, TOML or JSON hints",
                                        .setting = true,
                                        .repeatable = true};

struct Rule {
  Glob glob;
  std::string pattern;  // absolute
  Intent intent;
  std::vector<std::string> stages;
  std::string origin;  // file:line
};

class Rules {
 public:
  // Adds the rules of a file, TOML or JSON by what it holds ('{' first = JSON).
  Status load(const std::string& path);
  // The same from memory; `path` must be absolute and is used for messages and relative globs.
  Status parse_toml_rules(std::string_view text, const std::string& path);
  Status parse_hints(std::string_view text, const std::string& path);
  // Adds one signature: "NAME words".
  Status define(std::string_view text, std::string_view origin);

  [[nodiscard]] const std::vector<Rule>& rules() const { return rules_; }
  [[nodiscard]] const Sigdefs& sigdefs() const { return sigdefs_; }
  // The strongest first: of two that are alike the later one.
  [[nodiscard]] std::vector<const Rule*> by_strength() const;
  // What the rules say of one absolute path, in file order.
  [[nodiscard]] std::vector<Statement> matching(std::string_view path) const;

 private:
  Status add(std::string_view pattern, Intent intent, std::vector<std::string> stages,
             const std::string& file, std::string origin);

  std::vector<Rule> rules_;
  Sigdefs sigdefs_;
};

// A rule as a file has it that Rules can load.
std::string rule_text(std::string_view pattern, const Intent& intent, const std::vector<std::string>& stages);

}  // namespace sluice

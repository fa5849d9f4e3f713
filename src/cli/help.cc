#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/text.h"

namespace sluice {
namespace {

constexpr std::size_t page_width = 80;

constexpr std::string_view what_it_is =
    "Sluice puts a program's data on the right storage, in the right shape, from one line of declared "
    "intent, "
    "and shows what it predicted beside what came out.";

constexpr std::string_view statuses =
    "0 done, 1 could not, 2 wrong usage or bad input; verbs that run a command (run, tune, doctor) have that "
    "of the command, and of their own 125 to 127";

// The last paragraph of a description may say more of it.
constexpr std::string_view own_statuses = "\n\nExit status: ";

std::string_view description_of(const Verb& verb) {
  return verb.description.substr(0, verb.description.find(own_statuses));
}

std::string statuses_of(const Verb& verb) {
  const std::size_t own = verb.description.find(own_statuses);
  return std::string(own != std::string_view::npos ? verb.description.substr(own + own_statuses.size())
                     : verb.runs_program
                         ? "the command's; 125 Sluice failed, or wrong usage, 126 the command "
                           "cannot be run, 127 there is none."
                         : "0 done, 1 could not, 2 wrong usage or bad input.");
}

// Separated by empty lines.
std::vector<std::string_view> paragraphs_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find("\n\n", start), text.size());
    out.push_back(text.substr(start, end - start));
    start = end + 2;
  }
  return out;
}

// Paragraphs are wrapped; one that begins with a blank keeps its lines.
std::string paragraphs(std::string_view text, std::size_t page) {
  std::string out;
  for (const std::string_view paragraph : paragraphs_of(text)) {
    out += paragraph.starts_with(' ') ? std::string(paragraph) + "\n" : wrap(paragraph, page, 0);
    out += "\n";
  }
  return out;
}

std::string options_help(std::span<const Option* const> rows, const Style& style) {
  std::string out;
  for (const Option* row : rows) {
    out += fmt::format("  {}\n{}", style.paint(Colour::bold, option_heading(*row)),
                       wrap(option_text(*row), page_width, 6));
  }
  return out;
}

std::vector<Section> sections_of(const Verb& verb) {
  return verb.sections != nullptr ? verb.sections() : std::vector<Section>{};
}

// One row a verb.
std::string verb_rows(std::span<const Verb* const> list, const Style& style) {
  std::size_t longest = 10;
  for (const Verb* verb : list) {
    longest = std::max(longest, verb->name.size());
  }
  std::string out;
  for (const Verb* verb : list) {
    out += fmt::format("  {}  {}\n", style.paint(Colour::bold, fmt::format("{:<{}}", verb->name, longest)),
                       verb->summary);
  }
  return out;
}

// "sluice-lab-up"
std::string page_name(const Verb& verb) {
  std::string out = fmt::format("sluice-{}", verb.name);
  std::replace(out.begin(), out.end(), ' ', '-');
  return out;
}

// roff: a backslash, a leading dot or quote, and a dash that must stay a dash.
std::string roff(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool line_start = i == 0 || text[i - 1] == '\n';
    if (line_start && (text[i] == '.' || text[i] == '\'')) {
      out += "\\&";
    }
    if (text[i] == '\\') {
      out += "\\e";
    } else if (text[i] == '-') {
      out += "\\-";
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string roff_paragraphs(std::string_view text) {
  std::string out;
  for (const std::string_view paragraph : paragraphs_of(text)) {
    if (paragraph.starts_with(' ')) {
      out += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(paragraph));
    } else {
      out += fmt::format("{}{}\n", out.empty() ? "" : ".PP\n", roff(paragraph));
    }
  }
  return out;
}

std::string roff_rows(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::string out;
  for (const auto& [heading, text] : rows) {
    out += fmt::format(".TP\n.B {}\n{}\n", roff(heading), roff(text));
  }
  return out;
}

std::vector<std::string> option_words(const Verb& verb) {
  std::vector<std::string> out;
  for (const Option* row : rows_of(verb)) {
    out.push_back(fmt::format("--{}", row->name));
  }
  return out;
}

std::string man_header(std::string_view name) {
  return fmt::format(".TH {} 1 \"\" \"sluice {}\" \"Sluice\"\n", roff(name), SLUICE_VERSION);
}

}  // namespace

std::string synopsis(const Verb& verb) {
  return fmt::format("sluice {} [OPTION]...{}{}", verb.name, verb.operands.empty() ? "" : " ", verb.operands);
}

std::string overview_text(const Style& style) {
  std::string out =
      "usage: sluice VERB [OPTION]... [OPERAND]...\n\n" + wrap(what_it_is, page_width, 0) + "\n";
  return out + verb_rows(verbs(), style) +
         "\n`sluice VERB --help` tells more of a verb; `sluice --version` prints the version.\n";
}

std::string group_text(std::string_view group, const Style& style) {
  return fmt::format(
      "usage: sluice {0} VERB [OPTION]... [OPERAND]...\n\n{1}\n`sluice {0} VERB --help` tells more of a "
      "verb.\n",
      group, verb_rows(verbs_of(group), style));
}

std::string help_text(const Verb& verb, const Style& style) {
  std::string out = fmt::format("usage: {}\n\n{}.\n\n", synopsis(verb), verb.summary);
  out[out.find("\n\n") + 2] = static_cast<char>(std::toupper(out[out.find("\n\n") + 2]));
  out += paragraphs(description_of(verb), page_width);
  out += style.paint(Colour::bold, "Options") + "\n" + options_help(rows_of(verb), style) + "\n";
  for (const Section& section : sections_of(verb)) {
    out += style.paint(Colour::bold, section.title) + "\n";
    for (const auto& [heading, text] : section.rows) {
      out += fmt::format("  {}\n{}", style.paint(Colour::bold, heading), wrap(text, page_width, 6));
    }
    out += "\n";
  }
  if (!verb.examples.empty()) {
    out += style.paint(Colour::bold, "Examples") + "\n";
    for (const Example& example : verb.examples) {
      out += fmt::format("  {}\n{}", example.command, wrap(example.meaning, page_width, 6));
    }
    out += "\n";
  }
  return out + wrap(fmt::format("Exit status: {}", statuses_of(verb)), page_width, 0);
}

std::string overview_man() {
  std::string out = man_header("sluice");
  out += ".SH NAME\nsluice \\- put data on the right storage from declared intent\n";
  out += ".SH SYNOPSIS\n.B sluice\n.I VERB\n[\\fIOPTION\\fR]... [\\fIOPERAND\\fR]...\n.br\n";
  out += ".B sluice \\-\\-help\n.br\n.B sluice \\-\\-version\n";
  out += ".SH DESCRIPTION\n" + roff(what_it_is) + "\n.SH VERBS\n";
  for (const Verb* verb : verbs()) {
    out += fmt::format(".TP\n.BR \"{}\" \" \\- see {}\" (1)\n{}\n", roff(verb->name), roff(page_name(*verb)),
                       roff(verb->summary));
  }
  out += ".SH OPTIONS OF EVERY VERB\n";
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Option* row : common_options()) {
    rows.emplace_back(option_heading(*row), option_text(*row));
  }
  out += roff_rows(rows);
  out += ".SH EXIT STATUS\n" + roff(statuses) + "\n.SH FILES\n";
  out +=
      roff_rows({{"./sluice.toml", "configuration beside the work; read first"},
                 {"~/.config/sluice/sluice.toml", "the user's configuration (XDG_CONFIG_HOME is honoured)"},
                 {"/etc/sluice/sluice.toml", "the system's configuration"},
                 {"~/.local/state/sluice/catalog.db",
                  "the catalog: what Sluice remembers (XDG_STATE_HOME and SLUICE_CATALOG are honoured)"}});
  out += ".SH SEE ALSO\n";
  std::vector<std::string> pages;
  for (const Verb* verb : verbs()) {
    pages.push_back(fmt::format(".BR {} (1)", roff(page_name(*verb))));
  }
  return out + join(pages, ",\n") + "\n";
}

std::string verb_man(const Verb& verb) {
  const std::string page = page_name(verb);
  std::string out = man_header(page);
  out += fmt::format(".SH NAME\n{} \\- {}\n", roff(page), roff(verb.summary));
  out += fmt::format(".SH SYNOPSIS\n{}\n", roff(synopsis(verb)));
  out += ".SH DESCRIPTION\n" + roff_paragraphs(description_of(verb));
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Option* row : rows_of(verb)) {
    rows.emplace_back(option_heading(*row), option_text(*row));
  }
  out += ".SH OPTIONS\n" + roff_rows(rows);
  for (const Section& section : sections_of(verb)) {
    std::string title = section.title;
    for (char& c : title) {
      c = static_cast<char>(std::toupper(c));
    }
    out += fmt::format(".SH {}\n", roff(title)) + roff_rows(section.rows);
  }
  if (!verb.examples.empty()) {
    rows.clear();
    for (const Example& example : verb.examples) {
      rows.emplace_back(example.command, example.meaning);
    }
    out += ".SH EXAMPLES\n" + roff_rows(rows);
  }
  out += fmt::format(".SH EXIT STATUS\n{}\n.SH SEE ALSO\n.BR sluice (1)\n", roff(statuses_of(verb)));
  return out;
}

std::string bash_completion() {
  std::vector<std::string> firsts;            // what may follow `sluice`
  std::map<std::string, std::string> groups;  // group -> second words
  std::vector<std::string> pairs;
  for (const Verb* verb : verbs()) {
    const std::string first(first_word(verb->name));
    if (firsts.empty() || firsts.back() != first) {
      firsts.push_back(first);
    }
    if (verb->name != first) {
      groups[first] += fmt::format("{} ", last_word(verb->name));
      pairs.push_back(fmt::format("'{}'", verb->name));
    }
  }
  std::string out =
      "# bash completion for sluice\n"
      "_sluice() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} words= "
      "option=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  if [ \"$option\" = = ]; then option=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
      "  if [ \"$current\" = = ]; then current=; option=${COMP_WORDS[COMP_CWORD-1]}; fi\n";
  if (!pairs.empty()) {
    out += fmt::format(
        "  if [ \"$COMP_CWORD\" -gt 2 ]; then\n"
        "    case \"$verb ${{COMP_WORDS[2]}}\" in {}) verb=\"$verb ${{COMP_WORDS[2]}}\" ;; esac\n"
        "  fi\n",
        join(pairs, "|"));
  }
  out += fmt::format("  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    words='{} --help --version'\n",
                     join(firsts, " "));
  out += "  else\n    case $verb:$option in\n";
  for (const auto& [group, seconds] : groups) {
    const Verb* alone = find_verb(group);
    out += fmt::format("      {0}:{0}) words='{1}{2}' ;;\n      help:{0}) words='{1}' ;;\n", group, seconds,
                       alone != nullptr ? join(option_words(*alone), " ") : "--help");
  }
  for (const Verb* verb : verbs()) {
    for (const Option* row : rows_of(*verb)) {
      if (row->type == OptionType::choice) {
        std::string choices(row->range);
        std::replace(choices.begin(), choices.end(), '|', ' ');
        out += fmt::format("      '{}':--{}) words='{}' ;;\n", verb->name, row->name, choices);
      } else if (row->type == OptionType::path) {
        out += fmt::format("      '{}':--{}) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n",
                           verb->name, row->name);
      }
    }
    std::vector<std::string> words = option_words(*verb);
    if (verb->name == "help") {
      words.insert(words.end(), firsts.begin(), firsts.end());
    }
    out += fmt::format("      '{}':*) words='{}' ;;\n", verb->name, join(words, " "));
  }
  out +=
      "    esac\n  fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "}\ncomplete -o bashdefault -F _sluice sluice\n";
  return out;
}

Json help_json() {
  Json list = Json::array();
  for (const Verb* verb : verbs()) {
    Json options = Json::array();
    for (const Option* row : rows_of(*verb)) {
      Json option = {{"name", row->name}, {"help", row->help}, {"argument", row->argument}};
      option["default"] = row->fallback;
      option["environment"] = row->setting ? Json(environment_name(row->name)) : Json(nullptr);
      options.push_back(std::move(option));
    }
    list.push_back({{"name", verb->name},
                    {"summary", verb->summary},
                    {"usage", synopsis(*verb)},
                    {"least_operands", verb->least_operands},
                    {"runs_program", verb->runs_program},
                    {"options", std::move(options)}});
  }
  return {{"version", SLUICE_VERSION}, {"verbs", std::move(list)}};
}

}  // namespace sluice

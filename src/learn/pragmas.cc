#include "learn/pragmas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <tuple>

#include "base/json.h"
#include "base/text.h"

namespace sluice {
namespace {

// What can be said of each file that a line opens: the size of all of them together cannot.
std::vector<std::string> words_for_line(const LearnedFamily& family) {
  std::vector<std::string> out;
  for (const LearnedWord& word : family.words) {
    const bool of_all = word.word.starts_with("totalsize(") && family.file_count > 1;
    if (!word.doubtful && !word.confirm && !of_all) {
      out.push_back(word.word);
    }
  }
  return out;
}

// What is alike is one line of the output.
using Place = std::tuple<bool, std::string, unsigned, std::string>;
Place place_of(const std::optional<SourceLine>& where, const std::string& site) {
  return where && where->line != 0 ? Place(false, where->file, where->line, "") : Place(true, "", 0, site);
}

struct Draft {
  LearnedPragma out;
  std::vector<const LearnedFamily*> families;
};

std::string common_words(const std::vector<const LearnedFamily*>& families) {
  std::vector<std::string> out = words_for_line(*families.front());
  for (const LearnedFamily* family : families) {
    const std::vector<std::string> also = words_for_line(*family);
    std::erase_if(out, [&](const std::string& word) {
      return std::find(also.begin(), also.end(), word) == also.end() ||
             (families.size() > 1 && word.starts_with("totalsize("));
    });
  }
  return join(out, " ");
}

std::string function_text(const std::optional<SourceLine>& where) {
  return !where || where->function.empty()
             ? ""
             : fmt::format(" in {}{}", escape(where->function),
                           where->function.find('(') == std::string::npos ? "()" : "");
}

std::string opens_text(const LearnedPragma& pragma) {
  return fmt::format("{}: {} open{}{}", escape(join(pragma.families, ", ")), pragma.opens,
                     pragma.opens == 1 ? "" : "s", function_text(pragma.where));
}

// A path as somebody in the folder of the traced command would write it.
std::string short_path(const std::string& path, const Json& about) {
  const std::string folder = about.is_object() && about.contains("folder") && about["folder"].is_string()
                                 ? about["folder"].get<std::string>() + "/"
                                 : "";
  return escape(folder.size() > 1 && path.starts_with(folder) ? path.substr(folder.size()) : path);
}

}  // namespace

bool LearnedPragma::has_line() const {
  return where && where->line != 0 && !is_of_system(where->file);
}

Result<std::vector<LearnedPragma>> pragmas_of(const Lessons& lessons) {
  std::vector<std::pair<const LearnedFamily*, const LearnedSite*>> all;
  std::vector<CallSite> sites;
  for (const LearnedFamily& family : lessons.families) {
    for (const LearnedSite& site : family.sites) {
      all.emplace_back(&family, &site);
      sites.push_back(parse_call_site(site.site).value_or(CallSite()));
    }
  }
  if (all.empty() && !lessons.families.empty()) {
    return fail(ENODATA, "the trace does not say from where files were opened")
        .advise("record it again with `sluice run --trace FILE --sites`");
  }
  SLUICE_TRY(const std::vector<std::optional<SourceLine>> lines, find_source_lines(sites));
  std::map<Place, Draft> drafts;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [family, site] = all[i];
    Draft& draft = drafts[place_of(lines[i], site->site)];
    if (draft.families.empty()) {
      draft.out.where = lines[i];
      draft.out.site = site->site;
    }
    draft.out.opens += site->opens;
    if (std::find(draft.families.begin(), draft.families.end(), family) == draft.families.end()) {
      draft.families.push_back(family);
      draft.out.families.push_back(family->glob);
    }
  }
  std::vector<LearnedPragma> out;
  for (auto& [place, draft] : drafts) {
    draft.out.intent = common_words(draft.families);
    out.push_back(std::move(draft.out));
  }
  std::stable_partition(out.begin(), out.end(), [](const LearnedPragma& one) { return one.has_line(); });
  return out;
}

std::string pragmas_text(const Lessons& lessons, const std::vector<LearnedPragma>& pragmas) {
  std::string out =
      "# Each pragma goes before the statement at its line. Put in those of a file from the last to the "
      "first:\n# lines below one move.\n";
  std::string without;
  for (const LearnedPragma& pragma : pragmas) {
    const std::string files = opens_text(pragma);
    if (!pragma.has_line()) {
      const std::string place =
          pragma.where && pragma.where->line != 0
              ? fmt::format("{}:{}, of the system", pragma.where->file, pragma.where->line)
              : pragma.site;
      without += fmt::format("# {}, {}\n", files, escape(place));
      continue;
    }
    const std::string place =
        fmt::format("{}:{}", short_path(pragma.where->file, *lessons.about), pragma.where->line);
    out += pragma.intent.empty() ? fmt::format("# {}: no word is true of all: {}\n", place, files)
                                 : fmt::format("{}: #pragma sig {}  // {}\n", place, pragma.intent, files);
  }
  for (const LearnedFamily& family : lessons.families) {
    without +=
        family.sites.empty() ? fmt::format("# {}: nobody saw who opens it\n", escape(family.glob)) : "";
  }
  if (!without.empty()) {
    out +=
        "#\n# Without a line of source: compile with -g, for streams of C++ with -O1 too, and trace "
        "again.\n" +
        without;
  }
  return out;
}

Json pragmas_json(const std::vector<LearnedPragma>& pragmas) {
  Json out = Json::array();
  for (const LearnedPragma& pragma : pragmas) {
    Json one;
    const bool known = pragma.where && pragma.where->line != 0;
    put_bytes(one, "file", known ? pragma.where->file : "");
    one["line"] = known ? Json(pragma.where->line) : Json();
    one["function"] = pragma.where ? escape(pragma.where->function) : "";
    put_bytes(one, "site", pragma.site);
    one["usable"] = pragma.has_line() && !pragma.intent.empty();
    one["intent"] = pragma.intent;
    one["families"] = Json::array();
    for (const std::string& glob : pragma.families) {
      one["families"].push_back(escape(glob));
    }
    one["opens"] = pragma.opens;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace sluice

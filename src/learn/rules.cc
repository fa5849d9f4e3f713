// What was learned, for people and their editors, and as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "learn/learn.h"

namespace sluice {
namespace {

std::string command_of(const Json& about) {
  std::string out;
  if (about.is_object() && about.contains("command") && about["command"].is_array()) {
    for (const Json& word : about["command"]) {
      out += word.is_string() ? (out.empty() ? "" : " ") + escape(word.get<std::string>()) : "";
    }
  }
  constexpr std::size_t most = 200;
  return out.size() <= most ? out : out.substr(0, out.rfind(' ', most)) + " ...";
}

std::string requests_text(const LearnedRequests& requests, std::string_view done) {
  return requests.calls == 0
             ? ""
             : fmt::format(", {} {} in {}", human_size(requests.bytes), done, plural(requests.calls, "call"));
}

std::string head(const Lessons& lessons) {
  const std::string command = command_of(*lessons.about);
  std::string out = fmt::format("# Learned from {}{}.\n", plural(lessons.events, "call"),
                                command.empty() ? "" : fmt::format(" of: {}", command));
  if (!lessons.trouble.empty()) {
    out += fmt::format("# The trace is not whole ({}): totals are too low.\n", escape(lessons.trouble));
  }
  if (lessons.hashed) {
    out += "# Its paths are hashes, which match no file: all rules are commented out.\n";
  }
  out +=
      "#\n"
      "# Each word has a number before its evidence: how sure it is, from 0 to 1. What is not sure is "
      "commented out,\n"
      "# and so is what only you can know; take away the # to say it.\n";
  if (!lessons.folder.empty()) {
    out += fmt::format(
        "# Paths that do not begin with / are below the folder of this file: it belongs into\n# {}\n",
        escape(lessons.folder));
  }
  const auto left = [&](std::uint64_t count, std::string_view why) {
    out += count == 0 ? "" : fmt::format("# Left out: {} {}\n", plural(count, "file"), why);
  };
  left(lessons.left_out_system, "of the system that were only read");
  left(lessons.left_out_small,
       fmt::format("with less than {} in all files of the kind, or that were only opened",
                   human_size(lessons.minimum_bytes)));
  left(lessons.left_out_unwanted, "that --files does not name");
  left(lessons.left_out_more, "of kinds that have fewer bytes than these");
  if (lessons.families.empty()) {
    out += lessons.files == 0 ? "#\n# No call on a regular file is in the trace: there is nothing to say.\n"
                              : "#\n# No file is left of which something could be said.\n";
  }
  return out;
}

std::string family_text(const LearnedFamily& family, bool commented) {
  const bool says = !commented && !family.intent().empty();
  const std::string mark = says ? "" : "# ";
  std::string out = fmt::format("\n# {}{}{}", plural(family.file_count, "file"),
                                requests_text(family.read, "read"), requests_text(family.write, "written"));
  out += fmt::format("{}\n", family.syncs == 0 ? "" : fmt::format(", {}", plural(family.syncs, "sync")));
  if (!family.exact) {
    out += "# They do not all behave alike: only what they have in common is said.\n";
  }
  out += fmt::format("{0}[[rule]]\n{0}path = {1}\n{0}intent = [\n", mark, toml_text(family.glob));
  std::size_t width = 0;
  for (const LearnedWord& word : family.words) {
    width = std::max(width, word.word.size());
  }
  bool doubt = false;
  bool confirm = false;
  for (const LearnedWord& word : family.words) {
    if (word.confirm && !confirm) {
      out += fmt::format("{}  # Only if you confirm it:\n", mark);
      confirm = true;
    } else if (word.doubtful && !word.confirm && !doubt) {
      out += fmt::format("{}  # In doubt:\n", mark);
      doubt = true;
    }
    const bool said = !word.doubtful && !word.confirm;
    out +=
        fmt::format("{}  {}{:{}}  # {:.2f} {}\n", mark, said ? "" : "# ", fmt::format("\"{}\",", word.word),
                    width + (said ? 5 : 3), word.confidence, word.evidence);
  }
  return out + mark + "]\n";
}

Json requests_json(const LearnedRequests& requests) {
  return {{"calls", requests.calls},
          {"bytes", requests.bytes},
          {"seconds", requests.seconds},
          {"typical", requests.typical},
          {"pattern", requests.pattern}};
}

Json share_json(double share) {
  return share < 0 ? Json() : Json(share);
}

Json family_json(const LearnedFamily& family) {
  Json out;
  put_bytes(out, "glob", family.glob);
  put_bytes(out, "pattern", family.pattern);
  out["intent"] = family.intent();
  out["words"] = Json::array();
  for (const LearnedWord& word : family.words) {
    out["words"].push_back({{"word", word.word},
                            {"confidence", word.confidence},
                            {"evidence", word.evidence},
                            {"doubtful", word.doubtful},
                            {"confirm", word.confirm}});
  }
  out["files"] = Json::array();
  for (const std::string& path : family.files) {
    out["files"].push_back(escape(path));
  }
  out["file_count"] = family.file_count;
  out["exact"] = family.exact;
  out["created"] = family.created;
  out["opens"] = family.opens;
  out["calls"] = family.calls;
  out["syncs"] = family.syncs;
  out["processes"] = family.processes;
  out["size"] = family.size;
  out["read"] = requests_json(family.read);
  out["write"] = requests_json(family.write);
  out["seconds"] = family.seconds;
  out["sites"] = Json::array();
  for (const LearnedSite& site : family.sites) {
    out["sites"].push_back({{"site", escape(site.site)}, {"opens", site.opens}});
  }
  const LearnedMeasures& measures = family.measures;
  out["measures"] = {{"sequential", share_json(measures.sequential)},
                     {"strided", share_json(measures.strided)},
                     {"read", share_json(measures.read)},
                     {"synced", share_json(measures.synced)},
                     {"passes", share_json(measures.passes)},
                     {"spread", share_json(measures.spread)},
                     {"interleaved", share_json(measures.interleaved)}};
  return out;
}

}  // namespace

std::string rules_text(const Lessons& lessons) {
  std::string out = head(lessons);
  for (const LearnedFamily& family : lessons.families) {
    out += family_text(family, lessons.hashed);
  }
  return out;
}

Json lessons_json(const Lessons& lessons) {
  Json out;
  out["about"] = *lessons.about;
  put_bytes(out, "folder", lessons.folder);
  out["trouble"] = lessons.trouble;
  out["hashed"] = lessons.hashed;
  out["events"] = lessons.events;
  out["files"] = lessons.files;
  out["bytes"] = lessons.bytes;
  out["minimum_bytes"] = lessons.minimum_bytes;
  out["left_out"] = {{"system", lessons.left_out_system},
                     {"small", lessons.left_out_small},
                     {"unwanted", lessons.left_out_unwanted},
                     {"more", lessons.left_out_more}};
  out["families"] = Json::array();
  for (const LearnedFamily& family : lessons.families) {
    out["families"].push_back(family_json(family));
  }
  return out;
}

}  // namespace sluice

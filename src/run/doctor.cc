#include "run/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"

namespace sluice {
namespace {

constexpr std::size_t most_shown = 12;  // programs, and files

using Program = std::pair<const std::string, Tally>;
using Count = std::pair<std::string, std::uint64_t>;

// Those that did anything, the least seen first.
std::vector<const Program*> programs_of(const Diagnosis& diagnosis) {
  std::vector<const Program*> out;
  for (const Program& program : diagnosis.tallies) {
    if (program.second.seen() + program.second.unseen() > 0) {
      out.push_back(&program);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Program* a, const Program* b) {
    return std::pair(a->second.unseen(), a->second.seen()) > std::pair(b->second.unseen(), b->second.seen());
  });
  return out;
}

std::vector<Count> most_first(const std::map<std::string, std::uint64_t, std::less<>>& files) {
  std::vector<Count> out(files.begin(), files.end());
  std::stable_sort(out.begin(), out.end(),
                   [](const Count& a, const Count& b) { return a.second > b.second; });
  return out;
}

// Why calls of a program were not seen.
std::vector<Fate> reasons_of(const Tally& tally) {
  std::vector<Fate> out;
  for (std::size_t i = 0; i < fates; ++i) {
    if (is_unseen(static_cast<Fate>(i)) && tally.calls[i] > 0) {
      out.push_back(static_cast<Fate>(i));
    }
  }
  return out;
}

std::string why(const Tally& tally) {
  std::vector<std::string> out;
  for (const Fate fate : reasons_of(tally)) {
    out.emplace_back(text_of(fate).why);
  }
  return out.empty() ? "-" : join(out, "; ");
}

// Calls of a program that was only noticed, and not followed, are no number.
std::string unseen_text(const Tally& tally) {
  const std::uint64_t followed = tally.unseen() - tally.calls[static_cast<std::size_t>(Fate::foreign)];
  return followed == 0 && tally.unseen() > 0 ? "all" : std::to_string(followed);
}

std::string more(std::size_t all) {
  return all > most_shown ? fmt::format("and {} more\n", all - most_shown) : "";
}

std::string table_of_programs(const std::vector<const Program*>& programs, const Style& style) {
  Table table({{.title = "EXECUTABLE", .shrink = Shrink::middle},
               {.title = "SEEN", .align = Align::right},
               {.title = "NOT SEEN", .align = Align::right},
               {.title = "WHY", .shrink = Shrink::end}});
  for (std::size_t i = 0; i < programs.size() && i < most_shown; ++i) {
    const auto& [path, tally] = *programs[i];
    table.add({escape(path), std::to_string(tally.seen()), unseen_text(tally), why(tally)},
              tally.unseen() > 0 ? Colour::yellow : Colour::plain);
  }
  return table.print(style) + more(programs.size());
}

std::string table_of_files(const std::vector<Count>& files, const Style& style) {
  Table table({{.title = "FILE", .shrink = Shrink::middle}, {.title = "NOT SEEN", .align = Align::right}});
  for (std::size_t i = 0; i < files.size() && i < most_shown; ++i) {
    table.add({escape(files[i].first), std::to_string(files[i].second)});
  }
  return files.empty() ? "" : "\n" + table.print(style) + more(files.size());
}

}  // namespace

std::string diagnosis_text(const Diagnosis& diagnosis, const Style& style) {
  const auto programs = programs_of(diagnosis);
  Tally all;
  for (const Program* program : programs) {
    for (std::size_t i = 0; i < fates; ++i) {
      all.calls[i] += program->second.calls[i];
    }
    for (const auto& [file, calls] : program->second.files) {
      all.files[file] += calls;
    }
  }
  std::string crowded;
  if (diagnosis.unmanaged > 0) {
    crowded = fmt::format("sluice: {} passed no stage: too many files were open at once\n",
                          plural(diagnosis.unmanaged, "open"));
  }
  if (programs.empty()) {
    return "sluice: no calls on files were made\n" + crowded;
  }
  if (all.unseen() == 0) {
    return fmt::format("sluice: {} of {} on files: all were seen\n", plural(all.seen(), "call"),
                       plural(programs.size(), "program")) +
           crowded;
  }
  std::string out =
      fmt::format("sluice: not all calls on files were seen\n{}{}{}", table_of_programs(programs, style),
                  table_of_files(most_first(all.files), style), crowded.empty() ? "" : "\n");
  out += crowded + "\nWhat to use instead:\n";
  for (const Fate fate : reasons_of(all)) {
    out += fmt::format("{}: {}\n", text_of(fate).why, text_of(fate).instead);
  }
  return out + "There is no other way yet to have such calls pass stages.\n";
}

Json diagnosis_json(const Diagnosis& diagnosis) {
  std::uint64_t seen = 0;
  std::uint64_t unseen = 0;
  Json executables = Json::array();
  for (const Program* program : programs_of(diagnosis)) {
    const auto& [path, tally] = *program;
    seen += tally.seen();
    unseen += tally.unseen();
    Json reasons = Json::array();
    for (const Fate fate : reasons_of(tally)) {
      reasons.push_back({{"reason", text_of(fate).word},
                         {"calls", tally.calls[static_cast<std::size_t>(fate)]},
                         {"instead", text_of(fate).instead}});
    }
    Json files = Json::array();
    for (const auto& [file, calls] : most_first(tally.files)) {
      Json row;
      put_bytes(row, "path", file);
      row["calls"] = calls;
      files.push_back(std::move(row));
    }
    Json row;
    put_bytes(row, "path", path);
    row["seen"] = tally.seen();
    row["not_seen"] = tally.unseen();
    row["reasons"] = std::move(reasons);
    row["files"] = std::move(files);
    executables.push_back(std::move(row));
  }
  return {{"seen", seen},
          {"not_seen", unseen},
          {"unmanaged", diagnosis.unmanaged},
          {"executables", std::move(executables)}};
}

}  // namespace sluice

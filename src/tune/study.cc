#include "tune/study.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <system_error>

#include "base/files.h"
#include "base/json.h"
#include "base/sys.h"
#include "base/text.h"
#include "intent/parse.h"
#include "intent/rules.h"

namespace sluice {
namespace {

// Where the files of a family lie; null where they do not lie on one place.
const Place* home_of(const LearnedFamily& family, const Discovery& found) {
  const Place* out = nullptr;
  for (const std::string& file : family.files) {
    const Place* place = place_of_folder(found, folder_of(file));
    if (place == nullptr || (out != nullptr && out != place)) {
      return nullptr;
    }
    out = place;
  }
  return out;
}

std::string comment(const std::string& text) {
  return fmt::format("# {}\n", escape(text));
}

}  // namespace

const Place* place_of_folder(const Discovery& found, const std::string& folder) {
  std::error_code trouble;
  const std::string real = std::filesystem::weakly_canonical(folder, trouble).string();
  return trouble ? nullptr : place_of(found, real);
}

std::uint64_t Study::files() const {
  return std::accumulate(
      lessons.families.begin(), lessons.families.end(), std::uint64_t{0},
      [](std::uint64_t sum, const LearnedFamily& family) { return sum + family.file_count; });
}

std::uint64_t Study::bytes_read() const {
  return std::accumulate(
      lessons.families.begin(), lessons.families.end(), std::uint64_t{0},
      [](std::uint64_t sum, const LearnedFamily& family) { return sum + family.read.bytes; });
}

void Study::mark_what_is_there() {
  for (FileLoad& load : loads) {
    load.there = load.family->created > 0 &&
                 std::any_of(load.family->files.begin(), load.family->files.end(),
                             [](const std::string& path) { return sys().access(path.c_str(), F_OK) == 0; });
  }
}

Result<Study> study_trace(const std::string& trace, Storage storage) {
  SLUICE_TRY(TraceReader reader, TraceReader::open(trace));
  Study out;
  out.storage = std::move(storage);
  SLUICE_TRY(out.lessons, learn(reader, {}));
  if (out.lessons.hashed) {
    return bad_input(
        fmt::format("the paths in {} are hashed, so nobody can tell which files are meant", quote(trace)),
        "record it again without --hash-paths");
  }
  out.run.seconds = reader.end().is_object() ? reader.end().value("seconds", 0.0) : 0;
  if (out.run.seconds <= 0) {
    return bad_input(fmt::format("{} was cut: how long the program took is not known", quote(trace)),
                     "record it again");
  }
  for (const LearnedFamily& family : out.lessons.families) {
    FileLoad load{.family = &family, .intent = {}, .home = home_of(family, out.storage.found)};
    const auto intent = parse_intent(family.intent());
    if (!intent) {
      return intent.error().error(trace);
    }
    load.intent = *intent;
    out.run.in_calls += family.seconds;
    out.loads.push_back(std::move(load));
  }
  return out;
}

std::string rules_for(const Study& study, const Candidate& candidate, const std::string& about) {
  std::string out = comment(about);
  for (const std::string& risk : candidate.risks) {
    out += comment(fmt::format("{}: {}", candidate.name, risk));
  }
  for (const FileLoad& load : study.loads) {
    const auto action = std::find_if(candidate.actions.begin(), candidate.actions.end(),
                                     [&](const Action& one) { return one.load == &load; });
    if (action == candidate.actions.end() || action->stages.empty()) {
      continue;
    }
    out += "\n" + rule_text(load.family->pattern, load.intent, action->stages);
  }
  return out;
}

}  // namespace sluice

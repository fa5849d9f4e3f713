#include "tune/moves.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/json.h"
#include "base/stop.h"
#include "base/subprocess.h"
#include "base/text.h"

namespace sluice {
namespace {

constexpr Duration patience(3600, 0);

// Arguments of env. Tools have an environment of their own; ours has to find the user's catalog and
// configuration.
std::vector<std::string> in_our_environment() {
  std::vector<std::string> out;
  for (const char* name : {"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "SLUICE_CONFIG"}) {
    if (const std::string value = environment(name); !value.empty()) {
      out.push_back(fmt::format("{}={}", name, value));
    }
  }
  return out;
}

// What it printed. The words it is called with are ours, and nothing for people.
Result<std::string> run_ours(const std::vector<std::string>& words) {
  const Command command("env", words);
  auto out = run_tool(command, patience);
  if (out) {
    return out;
  }
  Error error = std::move(out).error();
  const std::string called = join(command.words(), " ") + " ";
  error.what = error.what.starts_with(called) ? error.what.substr(called.size()) : error.what;
  constexpr std::string_view failed = "failed: sluice: ";
  error.what = error.what.starts_with(failed) ? error.what.substr(failed.size()) : error.what;
  return error;
}

}  // namespace

Moves::Moves(const Candidate& candidate, std::vector<std::string> common) : common_(std::move(common)) {
  for (const Action& action : candidate.actions) {
    if (action.moves) {
      for (const std::string& file : action.load->family->files) {
        files_.push_back(
            {.path = file, .intent = print(action.load->intent), .place = action.elsewhere->name});
      }
    }
  }
}

Status Moves::put(const File& file) {
  SLUICE_CHECK(Stop::check());
  SLUICE_TRY(const std::string self, own_program());
  // The plan that the candidate came from knows nothing of what runs have taken since.
  std::vector<std::string> words = in_our_environment();
  words.insert(words.end(), {self, "place", "--adopt", "--json", "--corrections=off"});
  words.insert(words.end(), common_.begin(), common_.end());
  words.insert(words.end(), {"--", file.path, file.intent});
  SLUICE_TRY(const std::string placed, run_ours(words));
  moved_.push_back(file.path);
  const Json told = Json::parse(placed, nullptr, false);
  if (const std::string place = told.is_object() ? told.value("place", "") : ""; place != file.place) {
    return fail(fmt::format("{} would be put on {}, and not on {}", quote(file.path), place, file.place));
  }
  return {};
}

Status Moves::there() {
  if (!moved_.empty()) {
    return {};
  }
  for (const File& file : files_) {
    if (Status placed = put(file); !placed) {
      Error error = std::move(placed).error();
      if (const Status undone = back(); !undone) {
        error.advice = undone.error().text();
      }
      return error;
    }
  }
  return {};
}

Status Moves::back() {
  SLUICE_TRY(const std::string self, own_program());
  while (!moved_.empty()) {
    std::vector<std::string> words = in_our_environment();
    words.insert(words.end(), {self, "undo"});
    words.insert(words.end(), common_.begin(), common_.end());
    words.insert(words.end(), {"--", moved_.back()});
    if (const auto undone = run_ours(words); !undone) {
      Error error = undone.error();
      error.advice = fmt::format("`sluice status` tells where {} is", quote(moved_.back()));
      return error;
    }
    moved_.pop_back();
  }
  return {};
}

}  // namespace sluice

#include "tune/candidate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "tune/model.h"

namespace sluice {
namespace {

constexpr std::uint64_t large = std::uint64_t{128} << 10;       // writeback leaves such writes alone
constexpr std::uint64_t small_file = std::uint64_t{256} << 10;  // smallfiles keeps such files
constexpr std::uint64_t many_files = 16;
constexpr std::size_t most_places = 3;

// What all candidates are made from.
struct Question {
  std::span<const FileLoad> loads;
  std::span<const Place> places;
  const Profiles& profiles;
  const TracedRun& run;
  std::string_view folder;
};

bool makes_files(const FileLoad& load) {
  const LearnedFamily& family = *load.family;
  return !load.there && family.created > 0 && family.write.bytes > 0;
}

bool has_small_writes(const FileLoad& load) {
  const LearnedFamily& family = *load.family;
  return load.home != nullptr && family.write.calls > 2 * family.file_count && family.write.typical < large &&
         (family.write.pattern == "sequential" || family.write.pattern.empty()) && !load.intent.is("sync") &&
         !load.home->global.value_or(false) && family.write.calls > 2 * family.syncs;
}

bool is_ram(const Place& place) {
  return place.media.value_or(Media::unknown) == Media::ram;
}

// Reads whose next place is known, from storage that takes its time.
bool can_fetch_ahead(const FileLoad& load) {
  const std::string& pattern = load.family->read.pattern;
  return load.home != nullptr && load.family->read.bytes > 0 &&
         (pattern == "sequential" || pattern == "strided") && !is_ram(*load.home);
}

bool has_small_files(const FileLoad& load) {
  const LearnedFamily& family = *load.family;
  return makes_files(load) && family.file_count >= many_files && family.syncs == 0 &&
         family.write.bytes / family.file_count <= small_file && load.home != nullptr &&
         !load.home->global.value_or(false);
}

// Whether data that belongs at home may be there. What fsync promised at home must hold there, too.
bool may_be_at(const Place& there, const FileLoad& load) {
  const bool safe =
      !there.is_volatile.value_or(true) || load.home->is_volatile.value_or(false) || load.intent.is("temp");
  return safe && there.volume != load.home->volume && !load.intent.is("global") &&
         !load.home->global.value_or(false) && there.path.find_first_of(",\n") == std::string::npos;
}

// Other places that can take it, the best first.
std::vector<const Place*> others_for(const FileLoad& load, const Question& question) {
  std::vector<const Place*> out;
  if (load.home == nullptr) {
    return out;
  }
  const Plan plan = make_plan(load.intent, question.places, question.profiles);
  for (const Ranked& row : plan.ranking) {
    if (may_be_at(*row.where, load)) {
      out.push_back(row.where);
    }
  }
  return out;
}

std::vector<const Place*> others_for_new(const FileLoad& load, const Question& question) {
  return makes_files(load) ? others_for(load, question) : std::vector<const Place*>();
}

// `sluice place` takes the best place and no other, and files by their names.
std::vector<const Place*> best_for_reading(const FileLoad& load, const Question& question) {
  const LearnedFamily& family = *load.family;
  constexpr double too_little = 0.01;  // of the time in calls, as that of a script: nobody moves it for that
  if (family.write.bytes > 0 || family.read.bytes == 0 || family.files.size() != family.file_count ||
      family.seconds < too_little * question.run.in_calls) {
    return {};
  }
  std::vector<const Place*> out = others_for(load, question);
  out.resize(std::min<std::size_t>(out.size(), 1));
  return out;
}

// What the trace has measured of a family, changed as the model says. Its names stay where they are.
Expected scaled(const FileLoad& load, const Expected& now, const Expected& then) {
  const double names = std::min(load.family->open_seconds, load.family->seconds);
  const double measured = load.family->seconds - names;
  return {.seconds = names + measured * then.seconds / now.seconds,
          .low = names + measured * then.low / now.high,
          .high = names + measured * then.high / now.low};
}

struct Change {
  double seconds = 0;  // less than before
  double least = 0;
  double most = 0;
};

// The whole run, when calls of its threads take so much less.
Expected whole(const TracedRun& run, const Change& less, const Expected& after) {
  const double at_once = std::max(1.0, run.seconds > 0 ? run.in_calls / run.seconds : 1);
  const auto left = [&](double saved, double more) {
    return std::max(run.seconds - saved / at_once, 0.0) + more;
  };
  return {.seconds = left(less.seconds, after.seconds),
          .low = left(less.most, after.low),
          .high = left(less.least, after.high)};
}

// What the actions of a candidate save, and what follows them.
Expected estimate(const Candidate& candidate, const Question& question) {
  Change less;
  Expected after;
  for (const Action& action : candidate.actions) {
    const FileLoad& load = *action.load;
    const auto has = [&](std::string_view stage) {
      return std::any_of(action.stages.begin(), action.stages.end(),
                         [&](const std::string& spec) { return spec.starts_with(stage); });
    };
    const Place& place = action.elsewhere != nullptr ? *action.elsewhere : *load.home;
    const auto now = io_on(load, *load.home, question.profiles, false);
    const auto then = io_on(load, place, question.profiles, has("writeback"));
    if (!now || !then) {
      continue;
    }
    Expected cost = scaled(load, *now, *then);
    if (has("smallfiles")) {  // the run waits until they are put down, several at once
      cost = {.seconds = load.family->seconds,
              .low = load.family->seconds / 2,
              .high = load.family->seconds * 1.2};
    } else if (has("readahead")) {  // from all that is read in time to none
      const double measured = load.family->seconds;
      const double fetched = std::min(load.family->read.seconds, measured);
      cost = {.seconds = measured - fetched / 2, .low = measured - fetched, .high = measured};
    }
    const double measured = load.family->seconds;
    less.seconds += measured - cost.seconds;
    less.least += measured - cost.high;
    less.most += measured - cost.low;
    if (has("rewrite")) {  // which happens while the program goes on, or after it
      const Expected way = way_home(load, place, *load.home, question.profiles);
      after.seconds += way.seconds / 2;
      after.high += way.high;
    }
  }
  return whole(question.run, less, after);
}

std::string describe(const FileLoad& load) {
  const LearnedFamily& family = *load.family;
  const bool writes = family.write.bytes >= family.read.bytes;
  const LearnedRequests& most = writes ? family.write : family.read;
  return fmt::format("{} {} of {}{}{}", most.calls, writes ? "writes" : "reads", human_size(most.typical),
                     most.pattern.empty() ? "" : ", " + most.pattern,
                     family.file_count > 1 ? fmt::format(", {} files", family.file_count) : "");
}

Candidate finish(Candidate candidate, const Question& question) {
  candidate.model = estimate(candidate, question);
  return candidate;
}

template <class Applies>
void add_stage(std::vector<Candidate>& out, const Question& question, const std::string& name,
               const std::string& stage, const std::string& risk, const Applies& applies) {
  Candidate candidate{.name = name};
  for (const FileLoad& load : question.loads) {
    if (applies(load)) {
      const bool strided = stage == "readahead" && load.family->read.pattern == "strided";
      candidate.actions.push_back(
          {.load = &load, .stages = {strided ? stage + ":pattern=strided" : stage}, .why = describe(load)});
      if (name == "smallfiles" && !load.intent.is("temp")) {
        candidate.moved.push_back(load.family->glob);
      }
    }
  }
  if (candidate.actions.empty()) {
    return;
  }
  candidate.risks.push_back(risk);
  out.push_back(finish(std::move(candidate), question));
}

// Files that are made elsewhere and brought home, or that are moved there before, on each place that some of
// them may be on.
void add_places(std::vector<Candidate>& out, const Question& question, bool moves) {
  std::vector<std::pair<const Place*, std::vector<const FileLoad*>>> by_place;
  for (const FileLoad& load : question.loads) {
    for (const Place* place : moves ? best_for_reading(load, question) : others_for_new(load, question)) {
      auto found =
          std::find_if(by_place.begin(), by_place.end(), [&](const auto& one) { return one.first == place; });
      if (found == by_place.end()) {
        by_place.push_back({place, {}});
        found = by_place.end() - 1;
      }
      found->second.push_back(&load);
    }
  }
  std::vector<Candidate> all;
  for (const auto& [place, loads] : by_place) {
    Candidate candidate{.name = fmt::format("{} {}", moves ? "place on" : "rewrite to", place->name)};
    for (const FileLoad* load : loads) {
      Action action{.load = load, .elsewhere = place, .moves = moves, .why = describe(*load)};
      if (!moves) {
        const char* slash = place->path.ends_with('/') ? "" : "/";
        const bool shared = load->family->processes > 1;
        action.stages.push_back(fmt::format("rewrite:to={}{}{}{}", place->path, slash, question.folder,
                                            shared ? ",combine=yes" : ""));
        if (has_small_writes(*load) && !shared) {
          action.stages.emplace_back("writeback");
        }
      }
      candidate.actions.push_back(std::move(action));
      if (!load->intent.is("temp")) {
        candidate.moved.push_back(load->family->glob);
      }
    }
    candidate.risks.push_back(
        moves ? fmt::format("the data lies on {}, with a link at its path, until `sluice finalize`",
                            place->name)
              : fmt::format("until a file is closed and brought home it is on {}, with a link at its path",
                            place->name));
    all.push_back(finish(std::move(candidate), question));
  }
  std::sort(all.begin(), all.end(),
            [](const Candidate& a, const Candidate& b) { return a.model.seconds < b.model.seconds; });
  all.resize(std::min(all.size(), most_places));
  std::move(all.begin(), all.end(), std::back_inserter(out));
}

// The order in which stages of two lists go together: files are made elsewhere first, then what is kept back.
int rank(std::string_view stage) {
  return stage.starts_with("rewrite") ? 0 : stage.starts_with("readahead") ? 1 : 2;
}

bool go_together(const Action& one, const Action& other) {
  if (one.moves || other.moves || (one.elsewhere != nullptr && other.elsewhere != nullptr)) {
    return false;
  }
  const auto is_small = [](const std::string& stage) { return stage.starts_with("smallfiles"); };
  return std::none_of(one.stages.begin(), one.stages.end(), is_small) &&
         std::none_of(other.stages.begin(), other.stages.end(), is_small);
}

}  // namespace

bool Candidate::has_stages() const {
  return std::any_of(actions.begin(), actions.end(),
                     [](const Action& action) { return !action.stages.empty(); });
}

std::uint64_t Candidate::bytes_in_stages() const {
  std::uint64_t out = 0;
  for (const Action& action : actions) {
    out += action.stages.empty() ? 0 : action.load->family->read.bytes + action.load->family->write.bytes;
  }
  return out;
}

std::vector<Candidate> candidates_for(std::span<const FileLoad> loads, std::span<const Place> places,
                                      const Profiles& profiles, const TracedRun& run,
                                      std::string_view folder) {
  const Question question{
      .loads = loads, .places = places, .profiles = profiles, .run = run, .folder = folder};
  std::vector<Candidate> out = {
      {.name = "as it is", .model = {.seconds = run.seconds, .low = run.seconds, .high = run.seconds}}};
  add_stage(out, question, "writeback", "writeback",
            "another process is told the old size of a file by name until a block of it is full",
            has_small_writes);
  add_stage(out, question, "readahead", "readahead", "memory and requests for data that may not be read",
            can_fetch_ahead);
  add_stage(out, question, "smallfiles", "smallfiles:level=job",
            "other programs see the files when the run has ended, or some seconds after they were closed",
            has_small_files);
  add_places(out, question, false);
  add_places(out, question, true);
  return out;
}

std::optional<Candidate> combined(const Candidate& one, const Candidate& other, const TracedRun& run) {
  Candidate out = one;
  out.name = fmt::format("{} + {}", one.name, other.name);
  for (const Action& action : other.actions) {
    const auto same = std::find_if(out.actions.begin(), out.actions.end(),
                                   [&](const Action& mine) { return mine.load == action.load; });
    if (same == out.actions.end()) {
      out.actions.push_back(action);
      continue;
    }
    if (!go_together(*same, action)) {
      return std::nullopt;
    }
    for (const std::string& stage : action.stages) {
      if (std::find(same->stages.begin(), same->stages.end(), stage) == same->stages.end()) {
        same->stages.push_back(stage);
      }
    }
    std::stable_sort(same->stages.begin(), same->stages.end(),
                     [](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
    same->elsewhere = same->elsewhere == nullptr ? action.elsewhere : same->elsewhere;
  }
  const auto append = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
    for (const std::string& line : from) {
      if (std::find(to.begin(), to.end(), line) == to.end()) {
        to.push_back(line);
      }
    }
  };
  append(out.risks, other.risks);
  append(out.moved, other.moved);
  const auto both = [&](double a, double b) { return std::max(a + b - run.seconds, 0.0); };
  out.model = {.seconds = both(one.model.seconds, other.model.seconds),
               .low = both(one.model.low, other.model.low),
               .high = std::max(one.model.high, other.model.high)};
  return out;
}

}  // namespace sluice

#include "plan/stages.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "forecast/measured.h"

namespace sluice {
namespace {

constexpr std::uint64_t merged = std::uint64_t{1} << 20;   // what writeback writes, and a copy home
constexpr std::uint64_t large = std::uint64_t{128} << 10;  // writeback leaves such writes alone

struct Question {
  const Intent& intent;
  const Profiles& profiles;
  const Place& home;
  std::string_view folder;
};

// Programs that say nothing else go through the page cache.
Usage usage_of(const Intent& intent) {
  return {.mode = intent.is("sync") ? Mode::synced : Mode::buffered, .streams = {}};
}

bool says(const Intent& intent, Operation operation) {
  const auto said = intent.operation();
  return said && (*said == operation || *said == Operation::readwrite);
}

// At worst and at best.
struct Seconds {
  double least = 0;
  double most = 0;
};

Seconds seconds_of(const Throughput& rate, std::uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  return {.least = size / rate.high, .most = size / rate.low};
}

// To bring that much home: read there, written here, one after another.
Seconds way_home(const Ranked& there, const Ranked& home, std::uint64_t bytes) {
  Workload copy{.pattern = Pattern::sequential,
                .operation = Operation::read,
                .request = merged,
                .stride = 0,
                .mode = Mode::direct,
                .streams = 1,
                .assumed = {}};
  const Seconds out = seconds_of(forecast(there, copy), bytes);
  copy.operation = Operation::write;
  const Seconds in = seconds_of(forecast(home, copy), bytes);
  return {.least = out.least + in.least, .most = out.most + in.most};
}

// Whether data of home may be there for a while, when no constraint forbids it.
bool may_be_at(const Place& there, const Question& question) {
  const bool safe = !there.is_volatile.value_or(true) || question.home.is_volatile.value_or(false) ||
                    question.intent.is("temp");
  // A comma would end the stage's parameter, a new line its name.
  return safe && there.volume != question.home.volume && there.path.find_first_of(",\n") == std::string::npos;
}

// The stage in `stages` or in `without`.
void choose_rewrite(const Question& question, std::span<const Place> places, StagePlan& out) {
  const Intent& intent = question.intent;
  const auto no = [&](std::string why) {
    out.without.push_back({.stage = "rewrite", .why = std::move(why)});
  };
  if (!says(intent, Operation::write)) {
    return no("the intent says nothing of writes, and only new files are made elsewhere");
  }
  if (intent.is("global")) {
    return no("global: other machines would find a link to a path of this one");
  }
  const auto size = intent.total_size();
  if (!size) {
    return no("the intent has no totalsize: whether it fits elsewhere is not known");
  }
  Place own = question.home;
  own.writable = true;  // whether the program may write to its folder there is not asked
  const Plan at_home = make_plan(intent, {&own, 1}, question.profiles, usage_of(intent));
  if (at_home.ranking.empty()) {
    return no(fmt::format("{}, where they would come home to, breaks a constraint: {}", own.name,
                          at_home.rejected[0].because[0]));
  }
  const Ranked& home = at_home.ranking[0];
  const Plan plan = make_plan(intent, places, question.profiles, usage_of(intent));
  const auto best = std::find_if(plan.ranking.begin(), plan.ranking.end(),
                                 [&](const Ranked& row) { return may_be_at(*row.where, question); });
  if (best == plan.ranking.end()) {
    return no(fmt::format("no other place than {} may have it", own.name));
  }
  // Memory may take all of it or none: only a measurement knows.
  if (plan.workload.mode == Mode::buffered && (!home.measured || !best->measured)) {
    return no(
        fmt::format("without sync, only profiles of {} and {} with buffered writes could tell what it gains",
                    home.place, best->place));
  }
  const Seconds there = seconds_of(best->throughput, *size);
  const Seconds way = way_home(*best, home, *size);
  const Seconds here = seconds_of(home.throughput, *size);
  const std::string told =
      fmt::format("{} on {} ({}) take at most {} and {} home, on {} ({}) at least {}", human_size(*size),
                  best->place, best->source, human_duration(there.most), human_duration(way.most), home.place,
                  home.source, human_duration(here.least));
  if (there.most + way.most >= here.least) {
    return no(told);
  }
  const char* slash = best->path.ends_with('/') ? "" : "/";
  out.stages.push_back(
      {.stage = fmt::format("rewrite:to={}{}{}", best->path, slash, question.folder), .why = told});
  out.elsewhere = best->where;
}

void choose_readahead(const Question& question, StagePlan& out) {
  const Intent& intent = question.intent;
  const auto no = [&](std::string why) {
    out.without.push_back({.stage = "readahead", .why = std::move(why)});
  };
  const auto pattern = intent.pattern();
  if (!says(intent, Operation::read)) {
    return no("the intent says nothing of reads");
  }
  if (!pattern || *pattern == Pattern::random) {
    return no("what is read next is known of sequential and strided reads only");
  }
  if (question.home.media.value_or(Media::unknown) == Media::ram) {
    return no(fmt::format("{} is memory", question.home.name));
  }
  // Sequential reads it finds by itself, where the kernel does not reach as far.
  const bool strided = *pattern == Pattern::strided;
  out.stages.push_back({.stage = strided ? "readahead:pattern=strided" : "readahead",
                        .why = strided ? "strided reads, which the kernel does not fetch ahead"
                                       : "sequential reads, where the kernel does not fetch as far ahead"});
}

void choose_writeback(const Question& question, StagePlan& out) {
  const Intent& intent = question.intent;
  const Place& place = out.elsewhere != nullptr ? *out.elsewhere : question.home;
  const auto no = [&](std::string why) {
    out.without.push_back({.stage = "writeback", .why = std::move(why)});
  };
  const auto size = intent.request_size();
  if (!says(intent, Operation::write) || !size) {
    return no("the intent says nothing of the size of writes");
  }
  if (intent.is("sync")) {
    return no("sync: every write is flushed, so that none can wait for others");
  }
  if (intent.pattern().value_or(Pattern::sequential) != Pattern::sequential) {
    return no("only writes that continue each other are merged");
  }
  if (place.global.value_or(false)) {
    return no(fmt::format("other machines see {}, and would not see what is kept back", place.name));
  }
  const auto block = static_cast<std::uint64_t>(model_of(place).chunk);
  const std::string writes = fmt::format("writes of {}", human_size(*size));
  if (*size <= block) {
    out.stages.push_back({.stage = "writeback",
                          .why = fmt::format("{} are no larger than a block of {}, {}", writes, place.name,
                                             human_size(block))});
    return;
  }
  if (*size >= large) {
    return no(fmt::format("{} are large already", writes));
  }
  const auto known = question.profiles.find(place.id);
  if (known == question.profiles.end() || !known->second.profile) {
    return no(fmt::format("{} are larger than a block of {}, and what merging gains was not measured", writes,
                          place.name));
  }
  Workload workload = workload_of(intent, usage_of(intent));
  workload.operation = Operation::write;
  const auto small = measured_throughput(*known->second.profile, workload);
  workload.request = merged;
  const auto whole = measured_throughput(*known->second.profile, workload);
  if (!small || !whole) {
    return no(fmt::format("the profile of {} has no buffered writes", place.name));
  }
  const std::string told =
      fmt::format("{} reach at most {} on {}, blocks of {} at least {}", writes, human_rate(small->high),
                  place.name, human_size(merged), human_rate(whole->low));
  if (whole->low <= small->high) {
    return no(told);
  }
  out.stages.push_back({.stage = "writeback", .why = told});
}

}  // namespace

StagePlan plan_stages(const Intent& intent, std::span<const Place> places, const Profiles& profiles,
                      const Place* home, std::string_view folder) {
  StagePlan out;
  if (home == nullptr) {
    for (const char* stage : {"rewrite", "readahead", "writeback"}) {
      out.without.push_back({.stage = stage, .why = "which place these files lie on is not known"});
    }
    return out;
  }
  const Question question{.intent = intent, .profiles = profiles, .home = *home, .folder = folder};
  choose_rewrite(question, places, out);
  choose_readahead(question, out);
  choose_writeback(question, out);
  return out;
}

}  // namespace sluice

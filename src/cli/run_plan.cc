#include "cli/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/json.h"
#include "base/log.h"
#include "base/reach.h"
#include "base/text.h"
#include "places/mounts.h"

namespace sluice {
namespace {

std::string_view without_slash(std::string_view folder) {
  return folder == "/" ? std::string_view() : folder;
}

// The place of all files that the glob can match; null where it is not known, or there are several. The text
// of a path may lead through links.
const Place* home_of(const Glob& glob, const Discovery& found, Duration patience) {
  const std::string named = glob.prefix().substr(0, std::max<std::size_t>(glob.prefix().rfind('/'), 1));
  if (!answers(named, patience)) {
    return nullptr;
  }
  std::error_code trouble;
  const std::string folder = std::filesystem::weakly_canonical(named, trouble).string();
  if (trouble) {
    return nullptr;
  }
  const auto is_inside = [&](const std::string& mount) {
    if (mount == folder || !lies_in(mount, folder)) {
      return false;
    }
    const std::string below = fmt::format("{}{}", without_slash(named),
                                          std::string_view(mount).substr(without_slash(folder).size()));
    const auto all = Glob::parse(fmt::format("{}/**", Glob::literal(below)));
    return !all || all->overlaps(glob);
  };
  for (const Place& place : found.places) {
    if (is_inside(place.mount) || is_inside(place.path)) {
      return nullptr;
    }
  }
  for (const Skipped& skipped : found.skipped) {
    if (is_inside(skipped.mount)) {
      return nullptr;
    }
  }
  return place_of(found, folder);
}

// What is said of files that the rule names, in the order of the rules files.
Intent intent_of(const Rule& rule, std::span<const Rule* const> weaker) {
  std::vector<const Rule*> all = {&rule};
  std::copy_if(weaker.begin(), weaker.end(), std::back_inserter(all),
               [&](const Rule* other) { return other->glob.overlaps(rule.glob); });
  std::sort(all.begin(), all.end());
  std::vector<Statement> statements;
  for (const Rule* one : all) {
    statements.push_back({.intent = one->intent,
                          .strength = Strength::rule,
                          .origin = one->origin,
                          .literals = one->glob.literals()});
  }
  return merge(std::move(statements)).intent;
}

// What earlier rules take is not free for later ones.
void promise(std::vector<Place>& places, const Place& taken, std::uint64_t bytes) {
  for (Place& place : places) {
    place.promised += place.volume == taken.volume ? bytes : 0;
  }
}

// Makes the folder of a plan, unless it is there. Where that fails, files stay where they are.
void make_folder(RunPlan& out, PlannedRule& planned, const std::string& path) {
  if (std::any_of(out.folders.begin(), out.folders.end(),
                  [&](const OwnFolder& folder) { return folder.path() == path; })) {
    return;
  }
  auto made = OwnFolder::make(path);
  if (made) {
    out.folders.push_back(std::move(*made));
    return;
  }
  log::warn("run: files of {} are made where they belong: {}", quote(planned.rule->pattern),
            made.error().text());
  planned.plan.stages.erase(planned.plan.stages.begin());
  planned.plan.without.push_back({.stage = "rewrite", .why = made.error().what});
  planned.plan.elsewhere = nullptr;
}

// Where the stage makes files; "" = where they belong.
std::string made_in(const std::string& stage) {
  constexpr std::string_view name = "rewrite:";
  if (!stage.starts_with(name)) {
    return "";
  }
  for (const std::string_view parameter : split(std::string_view(stage).substr(name.size()), ',')) {
    if (parameter.starts_with("to=")) {
      return std::string(parameter.substr(3));
    }
  }
  return "";
}

Status check_rule(const Rule& rule, const Storage& storage) {
  for (const std::string& stage : rule.stages) {
    const std::string folder = made_in(stage);
    const Place* place = folder.empty() ? nullptr : place_of(storage.found, folder);
    if (place == nullptr) {
      continue;
    }
    Place own = *place;
    own.writable = true;  // the folder is named, and may well be the user's
    const Plan plan = make_plan(rule.intent, {&own, 1}, storage.profiles);
    if (plan.ranking.empty()) {
      return bad_input(
          fmt::format("{}: its files would be made on {}, which breaks a constraint of its intent: {}",
                      rule.origin, place->name, plan.rejected[0].because[0]),
          "name a folder on another place, or take the word out of the intent");
    }
  }
  return {};
}

}  // namespace

Status check_constraints(const Context& context, const Rules& rules) {
  const auto concerns = [](const Rule& rule) {
    return !rule.intent.empty() &&
           std::any_of(rule.stages.begin(), rule.stages.end(),
                       [](const std::string& stage) { return !made_in(stage).empty(); });
  };
  if (std::none_of(rules.rules().begin(), rules.rules().end(), concerns)) {
    return {};
  }
  SLUICE_TRY(const Storage storage, survey_for_run(context));
  for (const Rule& rule : rules.rules()) {
    if (concerns(rule)) {
      SLUICE_CHECK(check_rule(rule, storage));
    }
  }
  return {};
}

const StagePlan* RunPlan::of(const Rule& rule) const {
  const auto found =
      std::find_if(rules.begin(), rules.end(), [&](const PlannedRule& one) { return one.rule == &rule; });
  return found == rules.end() ? nullptr : &found->plan;
}

Result<Storage> survey_for_run(const Context& context) {
  return survey(context.config,
                {.discover = {.system = "", .timeout = context.options.duration("timeout"), .progress = {}},
                 .catalog = context.options.text("catalog"),
                 .remember = false,
                 .profiles = true,
                 .corrections = context.options.text("corrections") == "on"});
}

RunPlan plan_run(const Context& context, const Rules& rules) {
  const Duration patience = context.options.duration("timeout");
  auto storage = survey_for_run(context);
  RunPlan out;
  if (storage) {
    out.storage = std::move(*storage);
  } else {
    log::warn("run: without a plan, because the places cannot be read: {}", storage.error().text());
  }
  for (const std::string& warning : out.storage.warnings) {
    log::warn("{}", warning);
  }
  const std::string folder = own_folder_name();
  std::vector<Place>& places = out.storage.found.places;
  const std::vector<const Rule*> all = rules.by_strength();
  for (auto rule = all.begin(); rule != all.end(); ++rule) {
    if (!(*rule)->stages.empty() || (*rule)->intent.empty()) {
      continue;
    }
    const Place* home = home_of((*rule)->glob, out.storage.found, patience);
    PlannedRule planned{.rule = *rule,
                        .intent = intent_of(**rule, std::span(rule + 1, all.end())),
                        .place = home == nullptr ? "" : home->name,
                        .plan = {}};
    planned.plan = plan_stages(planned.intent, places, out.storage.profiles, home, folder);
    if (const Place* there = planned.plan.elsewhere; there != nullptr) {
      make_folder(out, planned, fmt::format("{}/{}", without_slash(there->path), folder));
    }
    if (const Place* there = planned.plan.elsewhere; there != nullptr) {
      promise(places, *there, planned.intent.total_size().value_or(0));
    }
    out.rules.push_back(std::move(planned));
  }
  return out;
}

std::string plan_text(const RunPlan& plan) {
  std::string out;
  for (const PlannedRule& one : plan.rules) {
    out += fmt::format("sluice: the plan for {}{}: {}\n", escape(one.rule->pattern),
                       one.place.empty() ? "" : fmt::format(" on {}", one.place), print(one.intent));
    for (const StageChoice& choice : one.plan.stages) {
      out += fmt::format("  {}: {}\n", escape(choice.stage), escape(choice.why));
    }
    for (const StageChoice& choice : one.plan.without) {
      out += fmt::format("  no {}: {}\n", choice.stage, escape(choice.why));
    }
  }
  return out;
}

Json plan_json(const RunPlan& plan) {
  const auto list = [](const std::vector<StageChoice>& choices) {
    Json out = Json::array();
    for (const StageChoice& choice : choices) {
      Json row;
      put_bytes(row, "stage", choice.stage);
      row["why"] = escape(choice.why);
      out.push_back(std::move(row));
    }
    return out;
  };
  Json out = Json::array();
  for (const PlannedRule& one : plan.rules) {
    Json row;
    row["rule"] = one.rule->origin;
    put_bytes(row, "files", one.rule->pattern);
    row["intent"] = print(one.intent);
    row["place"] = one.place;
    row["stages"] = list(one.plan.stages);
    row["without"] = list(one.plan.without);
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace sluice

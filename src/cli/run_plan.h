// What `sluice run --plan` does: rules that say an intent, and no stages, get those that the plan chooses.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "cli/verb.h"
#include "intent/rules.h"
#include "plan/stages.h"
#include "plan/storage.h"
#include "run/own_folder.h"

namespace sluice {

struct PlannedRule {
  const Rule* rule = nullptr;
  Intent intent;      // with the words of weaker rules that may name the same files
  std::string place;  // where its files lie; "" = not known, or several
  StagePlan plan;
};

struct RunPlan {
  Storage storage;                 // that it was made from
  std::vector<PlannedRule> rules;  // strongest first
  std::vector<OwnFolder> folders;  // where files are made elsewhere

  // Null where the rule was not planned.
  [[nodiscard]] const StagePlan* of(const Rule& rule) const;
};

// The storage of this machine, by the options of the run.
Result<Storage> survey_for_run(const Context& context);

// Refuses rules whose files would be made where their own constraints forbid it (promise 4).
Status check_constraints(const Context& context, const Rules& rules);

// The rules must outlive it. What cannot be read is said on standard error, and its files stay as they are.
RunPlan plan_run(const Context& context, const Rules& rules);

std::string plan_text(const RunPlan& plan);
Json plan_json(const RunPlan& plan);

}  // namespace sluice

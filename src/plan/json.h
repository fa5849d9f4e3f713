// The plan as `sluice advise --json` prints it (docs/schema/advise.json).
#pragma once

#include "base/json_fwd.h"
#include "plan/plan.h"

namespace sluice {

// `warnings`: what did not work when the storage was looked at.
Json to_json(const Plan& plan, const std::vector<std::string>& warnings = {});

}  // namespace sluice

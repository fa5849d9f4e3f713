// The plan as `sluice advise --json` prints it (docs/schema/advise.json).
#pragma once

#include "base/json.h"
#include "plan/plan.h"

namespace sluice {

Json to_json(const Plan& plan);

}  // namespace sluice

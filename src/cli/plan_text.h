// A plan for people, as `sluice advise` prints it.
#pragma once

#include <string>

#include "base/terminal.h"
#include "plan/plan.h"

namespace sluice {

// With `explain_it`, the arithmetic behind every number.
std::string advice_text(const Plan& plan, bool explain_it, const Style& style);

}  // namespace sluice

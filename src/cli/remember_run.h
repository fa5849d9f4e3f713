// What a run tells of the places that its files are on, for the forecasts of later ones.
#pragma once

#include <span>
#include <vector>

#include "catalog/catalog.h"
#include "cli/verb.h"
#include "plan/storage.h"
#include "run/account.h"
#include "run/shared.h"

namespace sluice {

// The requests that can be compared with a forecast, those of one kind on one place together. `fetched`:
// bytes that the run's processes had from storage (Ended::fetched). docs/run.md says which count.
std::vector<OutcomeRow> outcomes_of(const Account& account, std::span<const Stacked> rules,
                                    const Storage& storage, std::uint64_t fetched);

// Adds them to the catalog, unless --corrections is off. Nothing waits long for it; where it cannot be done
// that is said, and changes nothing else.
void remember_run(const Context& context, const Account& account, std::span<const Stacked> rules,
                  const Storage& storage, std::uint64_t fetched);

}  // namespace sluice

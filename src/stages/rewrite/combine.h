// How several open files write one file together, each to a part of its own (pipeline/parts.h).
#pragma once

#include "stages/rewrite/elsewhere.h"

namespace sluice {

inline constexpr std::uint32_t combine_operations = elsewhere_operations | SLUICE_BIT(SLUICE_WRITE) |
                                                    SLUICE_BIT(SLUICE_SEEK) | SLUICE_BIT(SLUICE_TRUNCATE) |
                                                    SLUICE_BIT(SLUICE_ALLOCATE) | SLUICE_BIT(SLUICE_SETTLE);

// A file that is opened for writing alone is in parts; all others pass act_elsewhere(), and what of them is
// in parts is brought together first.
std::int64_t act_combined(const Elsewhere& where, void** file_state, sluice_activity& activity,
                          const sluice_next* next);

}  // namespace sluice

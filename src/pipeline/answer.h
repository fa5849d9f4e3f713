// What a stage answers by itself, without those below it.
#pragma once

#include <cstdint>

#include "sluice/stage.h"

namespace sluice {

inline std::int64_t done(sluice_activity& activity, std::int64_t result) {
  activity.error = 0;
  return activity.result = result;
}

inline std::int64_t fail(sluice_activity& activity, int number) {
  activity.error = number;
  return activity.result = -1;
}

}  // namespace sluice

// The four operations on chunks, as policies, hints and people ask for them.
#pragma once

#include <cstdint>

#include "tier/map.h"

namespace sluice::tier {

enum class Action : std::uint8_t {
  redirect,   // to another tier because a read found it in the wrong place
  migrate,    // to another tier
  replicate,  // a further copy
  prefetch,   // a copy in the buffer that no crash has to know of
  drop,       // its further copies go
};

enum class Reason : std::uint8_t { asked, promotion, demotion, hint, drain, repair };
inline constexpr unsigned reasons = 6;

struct Operation {
  std::uint64_t chunk = 0;
  Action action = Action::migrate;
  Reason reason = Reason::asked;
  std::uint8_t from = no_tier;  // only if it is there; no_tier: wherever it is
  std::uint8_t to = no_tier;
};

const char* name_of(Action action);
const char* name_of(Reason reason);

}  // namespace sluice::tier

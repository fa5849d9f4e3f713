// Signatures that ship, for what data systems store (IOSIG section 8). Sigdefs::find() falls back to them, so
// they are known wherever a signature may stand; a sigdef of the same name is stronger. Pure.
#pragma once

#include <span>
#include <string_view>

#include "intent/intent.h"

namespace sluice {

struct Preset {
  std::string_view name;
  std::string_view words;
  std::string_view about;
};
std::span<const Preset> presets();

// Any case; null when there is none of that name.
const Intent* find_preset(std::string_view name);

}  // namespace sluice

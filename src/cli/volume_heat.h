// The heat map of a volume as pictures: how hot each part is, and on which tier it lies.
#pragma once

#include <string>

#include "base/json.h"
#include "base/terminal.h"

namespace sluice {

// `heat` is what the volume's server answers.
std::string heat_text(const Json& heat, const Style& style, unsigned columns);
std::string heat_svg(const Json& heat);

}  // namespace sluice

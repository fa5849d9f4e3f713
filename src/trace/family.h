// Names that differ in numbers alone.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// "/out/step_0042.dat" -> "/out/step_*.dat". Digits become a star, and so does a long word that is a
// hexadecimal number; what else is in the name stays, and a name without any comes back as it is.
std::string family_of(std::string_view path);

}  // namespace sluice

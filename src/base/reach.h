// Whether a path can be touched at all. A mount whose server is gone holds whoever touches it, so a
// short-lived child tries first.
#pragma once

#include <string>

#include "base/units.h"

namespace sluice {

// For Sluice's own files. Long, because to go on without a configuration is worse than to wait on a busy
// machine.
inline constexpr Duration file_patience(2, 0);

// False when looking at the path takes longer than the time; an answer of any kind, also an error, is true.
// Costs a fork, except on the file system of "/": where that does not answer, nothing does. May be called
// from any thread.
bool answers(const std::string& path, Duration time);

}  // namespace sluice

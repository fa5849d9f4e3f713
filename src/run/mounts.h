// Mounts on which a lease keeps everybody else out: those whose files no other machine changes.
#pragma once

#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "pipeline/buffers.h"

namespace sluice {

// By type, and by what sluice.toml says of `global`.
Result<std::vector<AreaMount>> local_mounts(const Config& config);

}  // namespace sluice

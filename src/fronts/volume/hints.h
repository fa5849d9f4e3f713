// Hints as they come by the control socket: what is said of ranges of the volume. Files become ranges before,
// in the command, because the server never looks at what is mounted on its own volume.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "tier/map.h"
#include "tier/volume.h"

namespace sluice::volume {

// {"class": "metadata"|"data", "size": BYTES, "pattern": "write-intensive"|"read-intensive"|"archival",
// "pin": bool}
Result<tier::Label> read_label(const Json& json);
Json describe(const tier::Label& label);

// 1 + number of HintStor's range of file sizes that this one is in.
std::uint8_t size_bucket(std::uint64_t size);
// "<256K", "256K-1M" ...
std::string bucket_name(std::uint8_t bucket);

// Rules [{"class", "below", "from", "pattern", "tier"}...], the first that fits a label counts, to a tier for
// each label. `tier` is looked up by `find`.
Result<tier::Placement> read_placement(const Json& rules,
                                       const std::function<Result<unsigned>(const std::string&)>& find);

}  // namespace sluice::volume

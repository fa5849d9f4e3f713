// An error on its way from one process to another: what, errno, advice and whose fault it was survive.
#pragma once

#include <optional>

#include "base/json_fwd.h"
#include "base/result.h"

namespace sluice {

// {"error": ..., "number": ..., "advice": ..., "usage": ...}; what says nothing is left out.
Json error_json(const Error& error);
// The error that the object holds, or nothing. REQUIRES: nothing of the object, it may come from anybody.
std::optional<Error> error_in(const Json& json);

}  // namespace sluice

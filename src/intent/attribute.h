// Intent in an extended attribute of the file itself: setfattr -n user.sluice.intent -v "random persist" FILE
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "intent/merge.h"
#include "intent/parse.h"

namespace sluice {

inline constexpr const char* intent_attribute = "user.sluice.intent";

// Nothing when there is no such file or attribute, or when it cannot be read: an attribute that nobody can
// see says nothing. One that is no intent is an error.
Result<std::optional<Statement>> attribute_statement(const std::string& path, const Sigdefs& sigdefs);

}  // namespace sluice

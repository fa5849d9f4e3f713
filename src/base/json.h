// JSON as the program prints it: keys in the order they were put, sizes in bytes, times in seconds.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_fwd.h"

// Compiled once, in json.cc.
extern template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace sluice {

// Bytes that may not be UTF-8 (a path). Valid UTF-8 is given exactly; otherwise the escaped text, and the
// exact bytes as "<key>_base64" beside it.
void put_bytes(Json& object, const std::string& key, std::string_view bytes);
std::string base64(std::string_view bytes);

// The text of a value; bytes that are no UTF-8 are replaced, never thrown. -1 = in one line.
std::string write_json(const Json& value, int indent = -1);

// What a text says; discarded where it is no JSON, or deeper than any of ours, which would take the whole
// stack to print or to copy.
Json parse_json(std::string_view text);

// A number, or null; also null for what JSON has no number for (infinity).
Json number_or_null(std::optional<double> value);

}  // namespace sluice

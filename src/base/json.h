// JSON as the program prints it: keys in the order they were put, sizes in bytes, times in seconds.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

using Json = nlohmann::ordered_json;

// Bytes that may not be UTF-8 (a path). Valid UTF-8 is given exactly; otherwise the escaped text, and the
// exact bytes as "<key>_base64" beside it.
void put_bytes(Json& object, const std::string& key, std::string_view bytes);
std::string base64(std::string_view bytes);

// A number, or null; also null for what JSON has no number for (infinity).
Json number_or_null(std::optional<double> value);

}  // namespace sluice

#include "base/error_json.h"

#include "base/json.h"

namespace sluice {
Json error_json(const Error& error) {
  Json out = {{"error", error.what}};
  if (error.number != 0) {
    out["number"] = error.number;
  }
  if (!error.advice.empty()) {
    out["advice"] = error.advice;
  }
  if (error.usage) {
    out["usage"] = true;
  }
  return out;
}

std::optional<Error> error_in(const Json& json) {
  if (!json.is_object() || !json.contains("error")) {
    return {};
  }
  const auto text = [&](const char* key) {
    return json.contains(key) && json.at(key).is_string() ? json.at(key).get<std::string>() : std::string{};
  };
  const bool numbered = json.contains("number") && json.at("number").is_number_integer();
  Error out = fail(numbered ? json.at("number").get<int>() : 0, text("error"));
  out.advice = text("advice");
  out.usage = json.contains("usage") && json.at("usage") == true;
  return out;
}

}  // namespace sluice

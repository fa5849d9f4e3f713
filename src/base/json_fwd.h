// The names alone of what base/json.h has, for headers: the definition of Json takes a second to compile, and
// most sources that come by such a header make and read none. Those that do include base/json.h.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

namespace sluice {

// Keys in the order they were put.
using Json = nlohmann::ordered_json;

// A Json that is a member of something. It is copied as a value, and null from the beginning.
class JsonBox {
 public:
  JsonBox();
  JsonBox(Json value);
  JsonBox(const JsonBox& other);
  JsonBox(JsonBox&& other) noexcept;
  JsonBox& operator=(const JsonBox& other);
  JsonBox& operator=(JsonBox&& other) noexcept;
  ~JsonBox();

  // REQUIRES for all: it was not moved away from.
  Json& operator*() { return *value_; }
  const Json& operator*() const { return *value_; }
  Json* operator->() { return value_.get(); }
  const Json* operator->() const { return value_.get(); }

 private:
  std::unique_ptr<Json> value_;
};

}  // namespace sluice

// What sluice.toml says about places ([place.NAME]) and devices ([device.NAME]).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "places/place.h"

namespace sluice {

struct PlaceOverride {
  std::string name;
  std::string origin;               // file:line:column of the nearest table
  std::optional<std::string> path;  // absolute, normal
  std::string path_origin;          // file:line:column
  std::string ignored;              // file:line that says ignore = true, or ""
  Place traits;                     // only what is configured has a value
};

struct DeviceOverride {
  std::string name;
  Place traits;
};

struct Overrides {
  std::vector<PlaceOverride> places;
  std::vector<DeviceOverride> devices;
};

// Reads all files, the nearest first; of a trait that several give, the nearest counts. Every fault is named
// with file, line and column.
Result<Overrides> parse_overrides(const Config& config);

// Takes every configured trait of `from` over into `to`.
void take_traits(const Place& from, Place& to);

// Applies what is configured about devices to the devices under the place and to its traits. Where several
// of them are configured, the least reliable counts.
void apply_devices(const std::vector<DeviceOverride>& overrides, Place& place);

// The keys that a [place.NAME] or [device.NAME] table may have, for documentation tests.
std::vector<std::string_view> place_keys();
std::vector<std::string_view> device_keys();

}  // namespace sluice

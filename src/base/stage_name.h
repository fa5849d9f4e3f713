// What of "NAME:PARAMETER=VALUE,..." names the stage. One with a '/' is a library, whose folder may have a
// colon in its name; a parameter may have a '/'.
#pragma once

#include <string_view>

namespace sluice {

constexpr std::string_view stage_name(std::string_view spec) {
  const std::size_t slash = spec.substr(0, spec.find('=')).rfind('/');
  return spec.substr(0, spec.find(':', slash == std::string_view::npos ? 0 : slash));
}

constexpr bool is_library(std::string_view spec) {
  return stage_name(spec).find('/') != std::string_view::npos;
}

}  // namespace sluice

// Where in the stacks of a run calls are counted or recorded: a stage that may stand there several times has
// a name at each. Header only, without allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pipeline/parameters.h"

namespace sluice {

// What it is called where nobody gave a name.
inline constexpr std::string_view default_point = "program";

// In memory that a run shares; its parent gives the names before the first process starts.
struct PointNames {
  static constexpr std::size_t most = 8;
  static constexpr std::size_t longest = 31;
  std::uint32_t count = 0;
  std::array<std::array<char, longest + 1>, most> names = {};

  // -1 where there is none of that name.
  [[nodiscard]] int number_of(std::string_view name) const {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (name == names[i].data()) {
        return static_cast<int>(i);
      }
    }
    return -1;
  }
  // REQUIRES: there are fewer than `most`.
  void add(std::string_view name) {
    auto& row = names[count++];
    row[name.copy(row.data(), longest)] = 0;
  }
};

// What start() of a stage whose one parameter is point=NAME was given. False where that is wrong, and told.
inline bool parse_point(Parameters& parameters, std::string_view& name) {
  name = default_point;
  while (parameters.next()) {
    if (parameters.name != "point" || parameters.value.size() > PointNames::longest) {
      parameters.refuse("there is point=NAME alone, of at most 31 bytes");
      return false;
    }
    name = parameters.value;
  }
  return parameters.good();
}

}  // namespace sluice

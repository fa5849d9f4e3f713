// How a new file is made elsewhere, and what becomes of its opens, syncs and closes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sluice/stage.h"

namespace sluice {

struct Elsewhere {
  static constexpr std::size_t most_exceptions = 8;

  std::array<char, 1024> folder = {};
  std::array<std::array<char, 128>, most_exceptions> except = {};  // globs of names
  std::size_t exceptions = 0;
};

inline constexpr std::uint32_t elsewhere_operations =
    SLUICE_BIT(SLUICE_OPEN) | SLUICE_BIT(SLUICE_SYNC) | SLUICE_BIT(SLUICE_CLOSE);

std::int64_t act_elsewhere(const Elsewhere& where, void** file_state, sluice_activity& activity,
                           const sluice_next* next);

}  // namespace sluice

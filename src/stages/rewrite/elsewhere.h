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
  bool combine = false;
};

bool is_excepted(const Elsewhere& where, const char* path);
// A name of its own there, which ends as the file's does, so that people see what it is.
bool name_data(const Elsewhere& where, const char* path, std::array<char, 256>& out);

inline constexpr std::uint32_t elsewhere_operations =
    SLUICE_BIT(SLUICE_OPEN) | SLUICE_BIT(SLUICE_SYNC) | SLUICE_BIT(SLUICE_CLOSE);

std::int64_t act_elsewhere(const Elsewhere& where, void** file_state, sluice_activity& activity,
                           const sluice_next* next);

}  // namespace sluice

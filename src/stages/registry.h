// The stages that ship, by name. Generated from the folders here.
#pragma once

#include <span>

#include "sluice/stage.h"

namespace sluice {

std::span<const sluice_stage* const> stages();

}  // namespace sluice
